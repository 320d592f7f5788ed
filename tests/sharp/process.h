// SPDX-License-Identifier: Apache-2.0
// A child process that does not outlive its test. Thread rule: start children before threads.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::sharp::testing {

class Process {
 public:
  // Runs function() in a fork; its result is the exit status.
  static Process fork(const std::function<int()>& function);
  // Runs a program; its standard error goes into `error_file` if one is named.
  static Process run(const std::vector<std::string>& arguments, const std::string& error_file = "");

  Process(Process&& other) noexcept : pid_(other.pid_) { other.pid_ = -1; }
  Process& operator=(Process&& other) = delete;
  ~Process();  // kills

  void signal(int number) const;
  // The exit status, 128 + n after signal n; nothing when it still runs after so many seconds.
  std::optional<int> wait(int seconds);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace sluice::sharp::testing
