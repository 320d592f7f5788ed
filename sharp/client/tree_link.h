// SPDX-License-Identifier: Apache-2.0
// A rank's connection to the leaf of its tree, for one epoch: chunks up, results down, damaged ones
// again, and the end of the group. Knows the wire and the connection, no operation.
//
// Sequences are the wire's here: they count from the epoch's start. Destroying a link closes its
// connection; from then on nothing can be written into this process by the old tree. Ownership:
// payloads and windows belong to the caller, payloads until on_sent(). Thread rule: one thread at a
// time. A forked child never speaks on it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "sharp/client/node_joiner.h"
#include "sharp/wire/chunk.h"
#include "sharp/wire/membership.h"
#include "transport/transport.h"

namespace sluice::sharp {

class TreeLink final : private transport::ConnectionHandler {
 public:
  // A result as it came. Its checksum is the receiver's to check, since only that knows whether
  // it is the one that is due.
  struct Arrival {
    bool written = false;  // into an announced window; else as a message
    transport::WindowId window = 0;
    uint64_t offset = 0;                 // written: place in the window,
    uint64_t size = 0;                   // and bytes
    std::span<const std::byte> payload;  // of a message
  };

  class Receiver {
   public:
    virtual ~Receiver() = default;
    // `header` is of this group, epoch and child. An error breaks the link.
    virtual Status on_result(const ChunkHeader& header, const Arrival& arrival) = 0;
    // The leaf got this chunk damaged and wants it again.
    virtual Status on_resend(TrafficClass traffic_class, uint64_t sequence) = 0;
    // The transport has let go of a written payload.
    virtual void on_sent(uint64_t token) = 0;
  };

  // `receiver` outlives the link.
  TreeLink(const GroupShape& shape, NodeJoiner::Session session, Receiver& receiver);
  ~TreeLink() override;
  TreeLink(const TreeLink&) = delete;
  TreeLink& operator=(const TreeLink&) = delete;

  struct Payload {
    const std::byte* data = nullptr;
    const transport::MemoryRegion* region = nullptr;  // of a streaming payload; may be null
    uint64_t token = 0;
  };
  // Group, epoch, child and checksum are filled in. header.payload_bytes 0: the header goes alone.
  // True: on_sent(token) will follow.
  Result<bool> send(ChunkHeader header, const Payload& payload);
  Status announce_result(const transport::LocalWindow& window, uint64_t operation);
  void withdraw(transport::WindowId window) { connection_->withdraw(window); }
  // A result came damaged.
  Status request_resend(TrafficClass traffic_class, uint64_t sequence);

  // Reads and writes what there is. An error: the link is broken, for good.
  Status progress();
  Status flush() { return connection_->flush(); }
  // Tells the leaf that this rank has done with the group. Nothing may be sent afterwards.
  void leave();

  // Whether payloads carry a checksum: not where the transport itself guarantees them.
  bool checks_payloads() const { return connection_->kind() != transport::Kind::verbs; }
  // The rank that the node holds responsible for the end of the group, if it said so.
  uint16_t culprit() const { return culprit_; }
  const std::string& node() const { return node_; }
  const GroupShape& shape() const { return shape_; }
  transport::Connection& connection() { return *connection_; }

 private:
  Status on_chunk(std::span<const std::byte> record, const Arrival& arrival);
  Status on_control(std::span<const std::byte> message);

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

  const GroupShape shape_;
  const std::string node_;
  const uint16_t child_;
  Receiver& receiver_;
  const pid_t process_;
  std::unique_ptr<transport::Connection> connection_;
  const transport::RemoteWindow slots_;
  std::optional<Error> ended_;  // the node's last words
  uint16_t culprit_ = kNoMember;
};

}  // namespace sluice::sharp
