// SPDX-License-Identifier: Apache-2.0
// A group's link to the parent node: there this node is a child like any other.
//
// connecting -> joining (Join sent, window for results announced) -> joined -> ending (Leave or
// the group's error sent; waits until the parent has closed, or for a while). Nothing blocks; the
// group bounds the time until it has joined. Ownership: the group's; goes before the group's
// memory. Thread rule: one thread.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "sharp/agg/data_path.h"
#include "sharp/agg/link.h"
#include "sharp/agg/parent_port.h"
#include "sharp/wire/membership.h"
#include "transport/endpoint.h"

namespace sluice::sharp {

class UpstreamOwner {
 public:
  virtual void on_parent_joined() = 0;
  virtual void on_parent_refused(const Refused& refused) = 0;
  // The parent has ended the group.
  virtual void on_parent_ended(const GroupError& error) = 0;
  // It is gone, cannot be reached or breaks the protocol.
  virtual void on_parent_lost(const std::string& reason) = 0;
  virtual void on_written_result(const ChunkHeader& header, const WrittenAt& at) = 0;
  virtual void on_message_result(const ChunkHeader& header, std::span<const std::byte> payload) = 0;
  virtual void on_parent_resend(const Resend& resend) = 0;
  virtual void on_confirmed(uint64_t token) = 0;

 protected:
  ~UpstreamOwner() = default;
};

class Upstream final : public Link, public ParentPort, private transport::ConnectionHandler {
 public:
  // `memory`: all of the group's; `results`: the part of it that the parent writes into.
  Upstream(LinkOwner& loop, UpstreamOwner& owner, Join join,
           std::unique_ptr<transport::Connector> connector, std::span<std::byte> memory,
           std::span<std::byte> results, Faults& faults);

  bool drive() override;
  bool finished() const override;
  transport::Connection* medium() override { return connection_.get(); }
  bool connecting() const { return connector_ != nullptr && !finished_; }

  uint16_t child_number() const override { return join_.child(); }
  bool send_chunk(const ChunkHeader& header, const std::byte* payload) override;
  void ask_again(const Resend& resend) override;

  // Last words; nothing is told to the owner afterwards.
  void leave();
  void report(const GroupError& error);

 private:
  void say_last(const Message& message);
  Status on_connected();
  void lost(const std::string& reason);

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_chunk(std::span<const std::byte> message);
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

  LinkOwner& loop_;
  UpstreamOwner& owner_;
  const Join join_;
  std::unique_ptr<transport::Connector> connector_;
  const std::span<std::byte> memory_;
  const std::span<std::byte> results_;
  Faults& faults_;
  std::unique_ptr<transport::MemoryRegion> region_;
  std::unique_ptr<transport::Connection> connection_;  // goes before the region
  transport::RemoteWindow slots_;
  bool has_slots_ = false;
  bool accepted_ = false;
  bool ending_ = false;
  bool finished_ = false;
  Deadline end_;
};

}  // namespace sluice::sharp
