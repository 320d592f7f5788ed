// SPDX-License-Identifier: Apache-2.0
#include "sharp/wire/group_id.h"

#include <sys/random.h>

#include <cerrno>

namespace sluice::sharp {

Result<GroupId> random_group_id() {
  GroupId id{};
  // Up to 256 bytes come whole once the kernel's pool is ready.
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
    return fail_errno(errno, "drawing a group id by getrandom()");
  }
  return id;
}

std::string text_of(const GroupId& id) {
  std::string text;
  for (size_t byte = 0; byte < 8; ++byte) text += format_text("%02x", id[byte]);
  return text;
}

}  // namespace sluice::sharp
