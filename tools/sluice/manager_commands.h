// SPDX-License-Identifier: Apache-2.0
// The subcommands that ask a manager: status, jobs, trees, reservations, drain.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace sluice::tool {

class ManagerCommands {
 public:
  // This object is written to when the command line is parsed.
  void declare(CLI::App& app);
  bool chosen() const;
  // Exit status. Prints to standard output.
  int run() const;

 private:
  CLI::App* add(CLI::App& app, const char* name, const char* what);
  template <typename Answer>
  int show(const Answer& answer) const;

  std::string address_ = "127.0.0.1:7601";
  double patience_ = 5;  // seconds
  bool json_ = false;
  std::string node_;
  bool undo_ = false;
  CLI::App* status_ = nullptr;
  CLI::App* jobs_ = nullptr;
  CLI::App* trees_ = nullptr;
  CLI::App* reservations_ = nullptr;
  CLI::App* drain_ = nullptr;
};

}  // namespace sluice::tool
