// SPDX-License-Identifier: Apache-2.0
#include "tests/sharp/recovery/site.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace sluice::sharp::testing {
namespace {

std::string text_in(const std::string& name) {
  std::ifstream file(name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Site::Site(size_t nodes, std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  std::string name = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
  folder_ = ::mkdtemp(name.data()) != nullptr ? name : "";
  for (size_t node = 0; node < nodes; ++node) {
    nodes_.push_back({"127.0.0.1:0", std::nullopt});
    start(node);
    // Only who was told its port may take it again while connections of the last one are fading.
    kill(node);
    start(node);
  }
}

Site::~Site() {
  nodes_.clear();
  std::filesystem::remove_all(folder_);
}

std::string Site::file(size_t node, const std::string& name) const {
  return folder_ + "/" + std::to_string(node) + "." + name;
}

void Site::start(size_t node) {
  const std::string port = file(node, "port");
  std::filesystem::remove(port);
  std::vector<std::string> command = {SLUICE_AGG_PROGRAM, "--listen", nodes_[node].address,
                                      "--port-file", port};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  nodes_[node].process.emplace(Process::run(command, file(node, "log")));
  for (int at = 0; at < 4000 && text_in(port).empty(); ++at) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const int number = std::atoi(text_in(port).c_str());
  EXPECT_GT(number, 0) << log(node);
  nodes_[node].address = "127.0.0.1:" + std::to_string(number);
}

std::string Site::log(size_t node) const {
  return text_in(file(node, "log"));
}

TreeSpec Site::tree(size_t root, const std::vector<size_t>& leaves) const {
  TreeSpec spec;
  spec.address = nodes_[root].address;
  for (const size_t leaf : leaves) spec.below.push_back(tree(leaf));
  return spec;
}

}  // namespace sluice::sharp::testing
