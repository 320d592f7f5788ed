// SPDX-License-Identifier: Apache-2.0
// An aggregation node for a test: the real program, on a port of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace sluice::test {

class NodeProgram {
 public:
  explicit NodeProgram(const std::vector<std::string>& more_arguments = {});
  ~NodeProgram();  // ends it
  NodeProgram(const NodeProgram&) = delete;
  NodeProgram& operator=(const NodeProgram&) = delete;

  // "127.0.0.1:4711"; empty when it did not start.
  const std::string& address() const { return address_; }
  void signal(int number);

 private:
  pid_t child_ = -1;
  std::string address_;
};

}  // namespace sluice::test
