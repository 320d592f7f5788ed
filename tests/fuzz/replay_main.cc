// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without a fuzzer: over each file of a folder and over some mutations
// of it, the same ones each time. Exit status 2: there is nothing to run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kMutationsPerSeed = 50;

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// One to four changes: a byte, a bit, an insertion, a removal, the end cut off.
Bytes mutated(Bytes bytes, std::mt19937& random) {
  for (auto left = 1 + random() % 4; left > 0 && !bytes.empty(); --left) {
    const auto at = static_cast<std::ptrdiff_t>(random() % bytes.size());
    switch (random() % 5) {
      case 0:
        bytes[static_cast<size_t>(at)] = static_cast<uint8_t>(random());
        break;
      case 1:
        bytes[static_cast<size_t>(at)] ^= static_cast<uint8_t>(1 << random() % 8);
        break;
      case 2:
        bytes.insert(bytes.begin() + at, static_cast<uint8_t>(random()));
        break;
      case 3:
        bytes.erase(bytes.begin() + at);
        break;
      default:
        bytes.resize(static_cast<size_t>(at));
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::mt19937 random(1);
  for (const auto& path : paths) {
    const Bytes seed = read(path);
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    for (int round = 0; round < kMutationsPerSeed; ++round) {
      const Bytes input = mutated(seed, random);
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  std::printf("%zu seeds of %s\n", paths.size(), argv[1]);
  return paths.empty() ? 2 : 0;
}
