// SPDX-License-Identifier: Apache-2.0
#include "transport/messages/matching.h"

#include <algorithm>

namespace sluice::transport {

void Matcher::add_send(uint32_t send, int tag) {
  const Send added{send, tag};
  if (groups_.empty() || !take(groups_.front(), added)) {
    sends_.push_back(added);
    return;
  }
  if (groups_.front().free == 0) {
    groups_.pop_front();
    serve_from_front();
  }
}

void Matcher::add_group(uint32_t group, std::span<const int> tags) {
  Group added;
  added.id = group;
  added.count = added.free = static_cast<uint32_t>(std::min<size_t>(tags.size(), kMaxBuffers));
  std::copy_n(tags.begin(), added.count, added.tags.begin());
  groups_.push_back(added);
  if (groups_.size() == 1) serve_from_front();
}

bool Matcher::take(Group& group, const Send& send) {
  for (uint32_t buffer = 0; buffer < group.count; ++buffer) {
    if (group.taken[buffer] || group.tags[buffer] != send.tag) continue;
    group.taken[buffer] = true;
    --group.free;
    on_match_({send.id, group.id, buffer});
    return true;
  }
  return false;
}

void Matcher::serve_from_front() {
  while (!groups_.empty()) {
    Group& group = groups_.front();
    for (auto send = sends_.begin(); send != sends_.end() && group.free > 0;) {
      send = take(group, *send) ? sends_.erase(send) : send + 1;
    }
    if (group.free > 0) return;
    groups_.pop_front();
  }
}

}  // namespace sluice::transport
