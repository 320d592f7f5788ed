// SPDX-License-Identifier: Apache-2.0
// A child of a group: what the group knows of it, and what it needs of its connection.
#pragma once

#include <string>
#include <vector>

#include "sharp/wire/membership.h"
#include "transport/transport.h"

namespace sluice::sharp {

class ChildPort {
 public:
  virtual transport::Connection& connection() = 0;
  // Something was posted: the event loop shall drive the connection soon.
  virtual void touch() = 0;
  // The group is over: close once the last words are out, or after a while.
  virtual void end() = 0;

 protected:
  ~ChildPort() = default;
};

struct ChildInfo {
  bool node = false;             // else a rank
  std::vector<RankRange> ranks;  // below it; one for a rank
  std::string host;              // for texts

  // "rank 3", "node 10.0.0.1:7654 (ranks 4-7)"
  std::string name() const;
  // The same with the host of a rank: "rank 3 (gpu07, pid 17)".
  std::string full_name() const;
  // Whom to blame when this child is at fault: a rank, but never a node.
  uint16_t rank() const { return node || ranks.empty() ? kNoMember : ranks.front().first; }
  bool holds(uint16_t rank) const;
};

// "0-3, 8"; long lists are cut.
std::string text_of(const std::vector<RankRange>& ranks);
// Ascending, without overlap, below `members`, none empty.
bool are_ranks(const std::vector<RankRange>& ranks, uint16_t members);
bool overlap(const std::vector<RankRange>& a, const std::vector<RankRange>& b);
// All of both, in order, neighbours joined.
std::vector<RankRange> united(const std::vector<RankRange>& a, const std::vector<RankRange>& b);
uint32_t count_of(const std::vector<RankRange>& ranks);

}  // namespace sluice::sharp
