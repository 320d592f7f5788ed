// SPDX-License-Identifier: Apache-2.0
// One connection from below: a stranger until it joins, a child of its group until that ends.
//
// Nothing it sends is trusted: what cannot be decoded costs this connection (and, for a child, its
// group). Ownership: owned by the node. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/agg/child_port.h"
#include "sharp/agg/group.h"
#include "sharp/agg/link.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

using Admission = tl::expected<Group*, Refused>;

// What a child asks its node for.
class Admitter {
 public:
  // The group that the child belongs to from now on, or the answer to it.
  virtual Admission admit(const Join& join) = 0;

 protected:
  ~Admitter() = default;
};

class Child final : public Link, public ChildPort, public transport::ConnectionHandler {
 public:
  Child(LinkOwner& loop, Admitter& admitter, std::unique_ptr<transport::Connection> connection);
  ~Child() override;

  bool drive() override;
  bool finished() const override;
  transport::Connection* medium() override { return connection_.get(); }
  const Group* group() const { return group_; }
  // Why a stranger was dropped; empty: nothing to say.
  const std::string& complaint() const { return complaint_; }

  transport::Connection& connection() override { return *connection_; }
  void touch() override { loop_.activate(*this); }
  void end() override;

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

 private:
  Status on_chunk(std::span<const std::byte> message);
  Status on_word(const Envelope& envelope);
  Status on_join(const Join& join);
  void lost(const std::string& reason);

  LinkOwner& loop_;
  Admitter& admitter_;
  std::unique_ptr<transport::Connection> connection_;
  Group* group_ = nullptr;  // outlives this child
  uint16_t number_ = kNoMember;
  bool node_ = false;
  Deadline deadline_;  // for the join; once it ends, for the last words
  bool ending_ = false;
  bool finished_ = false;
  std::string complaint_;
};

}  // namespace sluice::sharp
