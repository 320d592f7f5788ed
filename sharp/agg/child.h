// SPDX-License-Identifier: Apache-2.0
// One connection to the node: a stranger until it joins, a member until its group ends.
//
// Nothing it sends is trusted: what cannot be decoded costs this connection (and, for a member, its
// group). Ownership: owned by the node, which destroys it only between events, never from within a
// callback. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/agg/group.h"
#include "sharp/agg/member_port.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

class Child;

using Admission = tl::expected<Group*, Refused>;

// What a child asks its node for.
class ChildOwner {
 public:
  // The group that the child is a member of from now on, or the answer to it.
  virtual Admission admit(const Join& join) = 0;
  virtual void activate(Child& child) = 0;

 protected:
  ~ChildOwner() = default;
};

class Child final : public MemberPort, public transport::ConnectionHandler {
 public:
  Child(uint64_t id, std::unique_ptr<transport::Connection> connection, ChildOwner& owner);
  ~Child() override;

  uint64_t id() const { return id_; }
  // Pushes and reads. True: bytes moved.
  bool drive();
  // Nothing more will come of it: to be destroyed.
  bool finished() const;
  bool is_member() const { return group_ != nullptr; }
  // Why a stranger was dropped; empty: nothing to say.
  const std::string& complaint() const { return complaint_; }

  // The event loop's own notes.
  bool active = false;
  TimePoint last_moved{};

  transport::Connection& connection() override { return *connection_; }
  void touch() override { owner_.activate(*this); }
  void end() override;

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

 private:
  Status on_join(const Join& join);
  void lost(const std::string& reason);

  const uint64_t id_;
  ChildOwner& owner_;
  std::unique_ptr<transport::Connection> connection_;
  Group* group_ = nullptr;  // outlives this child
  uint16_t rank_ = kNoMember;
  Deadline deadline_;  // for the join; once it ends, for the last words
  bool ending_ = false;
  bool finished_ = false;
  std::string complaint_;
};

}  // namespace sluice::sharp
