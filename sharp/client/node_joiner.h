// SPDX-License-Identifier: Apache-2.0
// One rank's way to the node: connect, join, learn where its slots are. A state machine that never
// blocks.
//
// Destroying a joiner that has joined, and whose connection was not taken, leaves the group.
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/wire/rendezvous.h"
#include "transport/endpoint.h"

namespace sluice::sharp {

class NodeJoiner final : private transport::ConnectionHandler {
 public:
  NodeJoiner(transport::Context& context, const Plan& plan, uint16_t rank, Duration budget);
  ~NodeJoiner() override;

  enum class State { working, joined, failed };
  State progress();
  State state() const { return state_; }
  const std::string& reason() const { return reason_; }  // when failed

  // What a client goes on with.
  struct Session {
    std::unique_ptr<transport::Connection> connection;
    transport::RemoteWindow slots;
    std::string node;              // its address
    uint16_t child = 0;            // this rank's place there
    std::string trouble;           // the group ended between join and decision; empty: it did not
    uint16_t culprit = kNoMember;  // of the trouble, if the node named a rank
  };
  Session take();

 private:
  Status open();
  Status on_connected();
  void step();
  void give_up(std::string reason);

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

  transport::Context& context_;
  const Plan plan_;
  const uint16_t rank_;
  const Duration budget_;
  const Deadline deadline_;
  std::unique_ptr<transport::Connector> connector_;
  std::unique_ptr<transport::Connection> connection_;
  transport::RemoteWindow slots_;
  bool accepted_ = false;
  bool has_slots_ = false;
  State state_ = State::working;
  std::string reason_;
  std::string trouble_;
  uint16_t culprit_ = kNoMember;
};

}  // namespace sluice::sharp
