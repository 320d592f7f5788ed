// SPDX-License-Identifier: Apache-2.0
// Is the name of a setting right? Names of NCCL and of other programs are never called wrong; a
// name that looks like a slip of the keyboard is, with the name that was probably meant. Any
// thread.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

enum class NameVerdict {
  fine,      // ours, NCCL's, or nobody's business here
  unknown,   // of our family, but no setting of this version; `nearest` is far
  misspelt,  // close to `nearest`
};

struct NameCheck {
  NameVerdict verdict = NameVerdict::fine;
  std::string nearest;  // empty when fine
};

NameCheck check_name(std::string_view name);

}  // namespace sluice
