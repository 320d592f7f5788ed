// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/process_state.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace sluice::test {
namespace {

int entries(const char* folder) {
  const std::filesystem::directory_iterator first(folder);
  return static_cast<int>(std::distance(begin(first), end(first)));
}

}  // namespace

int open_descriptors() {
  return entries("/proc/self/fd") - 1;  // without the iterator's own
}

int threads() {
  return entries("/proc/self/task");
}

int threads_at_rest() {
  std::thread([] {}).join();
  int fewest = threads();
  for (int sample = 0; sample < 20; ++sample) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    fewest = std::min(fewest, threads());
  }
  return fewest;
}

int mappings_of(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(text) != std::string::npos) ++count;
  }
  return count;
}

long resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  long size = 0;
  long resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

bool wait_for_threads(int most) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (threads() > most) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace sluice::test
