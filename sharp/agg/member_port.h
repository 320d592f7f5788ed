// SPDX-License-Identifier: Apache-2.0
// What a group needs of a member's connection.
#pragma once

#include "transport/transport.h"

namespace sluice::sharp {

class MemberPort {
 public:
  virtual transport::Connection& connection() = 0;
  // Something was posted: the event loop shall drive the connection soon.
  virtual void touch() = 0;
  // The group is over: close once the last words are out, or after a while.
  virtual void end() = 0;

 protected:
  ~MemberPort() = default;
};

}  // namespace sluice::sharp
