// SPDX-License-Identifier: Apache-2.0
// Matching of sends with announced receives: pure policy, no network.
//
// Groups are served strictly in the order they were announced. Within the oldest group a send takes
// the first free buffer with its tag; sends with equal tags keep their order; a send whose tag is
// not in the group waits without holding up later sends. A group whose buffers are all taken makes
// way for the next. (NCCL's rule: tags choose the buffer inside the first grouped receive only.)
// Thread rule: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace sluice::transport {

class Matcher {
 public:
  static constexpr int kMaxBuffers = 8;

  struct Match {
    uint32_t send = 0;    // as given to add_send()
    uint32_t group = 0;   // as given to add_group()
    uint32_t buffer = 0;  // index into the group's tags
  };
  using OnMatch = std::function<void(const Match&)>;

  explicit Matcher(OnMatch on_match) : on_match_(std::move(on_match)) {}

  // A send is posted; matches at once if the oldest group has room for it.
  void add_send(uint32_t send, int tag);
  // The peer announced a group of 1..kMaxBuffers tags.
  void add_group(uint32_t group, std::span<const int> tags);

  size_t waiting_sends() const { return sends_.size(); }
  size_t open_groups() const { return groups_.size(); }

 private:
  struct Send {
    uint32_t id;
    int tag;
  };
  struct Group {
    uint32_t id = 0;
    uint32_t count = 0;
    uint32_t free = 0;  // buffers not taken
    std::array<int, kMaxBuffers> tags{};
    std::array<bool, kMaxBuffers> taken{};
  };

  bool take(Group& group, const Send& send);
  // Serves waiting sends from the oldest group on, until a group stays open.
  void serve_from_front();

  OnMatch on_match_;
  std::deque<Group> groups_;
  std::deque<Send> sends_;  // none of them fits the oldest group
};

}  // namespace sluice::transport
