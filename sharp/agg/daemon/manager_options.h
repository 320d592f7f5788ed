// SPDX-License-Identifier: Apache-2.0
// The options of sluice-agg about the manager: where it is, and what the node says of itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sharp/agg/registration.h"

namespace CLI {
class App;
}

namespace sluice::sharp {

class ManagerOptions {
 public:
  // This object is written to when the command line is parsed.
  void declare(CLI::App& app);
  Result<RegistrationOptions> interpret() const;

 private:
  std::vector<std::string> managers_;
  std::string name_;
  std::string advertise_;
  std::string at_;
  std::vector<std::string> serves_;
  std::string uplink_;
  std::string bandwidth_ = "0";
  int rail_ = -1;
  std::vector<std::string> roles_;
};

}  // namespace sluice::sharp
