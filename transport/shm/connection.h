// SPDX-License-Identifier: Apache-2.0
// Connection between two processes of one host, over a Segment. Thread rule, units:
// transport/transport.h.
//
// Small writes go through the ring. Large ones are pushed by the sender into the announced window
// with process_vm_writev, one copy in all, where the kernel allows it; else they go through the
// ring in pieces. Nobody waits on a futex: progress() polls, and only a side that said it sleeps is
// kicked by its event descriptor.
#pragma once

#include <sys/types.h>

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "transport/departure.h"
#include "transport/endpoint.h"
#include "transport/shm/peer_memory.h"
#include "transport/shm/ring.h"
#include "transport/shm/segment.h"
#include "transport/window_table.h"

namespace sluice::transport::shm {

// What set-up has agreed upon.
struct Parts {
  Segment segment;
  int side = 0;  // 0: made the segment
  FileDescriptor own_event;
  FileDescriptor peer_event;
  PeerMemory peer_memory;  // not usable(): large writes go through the ring
};

class ShmConnection final : public Connection {
 public:
  ShmConnection(Context& context, std::string peer, Parts parts, Watch watch);
  ~ShmConnection() override;

  Kind kind() const override { return Kind::shm; }
  const std::string& peer() const override { return peer_; }
  Result<std::unique_ptr<MemoryRegion>> register_memory(void* data, size_t size,
                                                        MemoryType type) override;
  Status announce(std::span<const LocalWindow> windows, std::span<const std::byte> note) override;
  void withdraw(WindowId window) override;
  Status send_message(std::span<const std::byte> head, std::span<const std::byte> body) override;
  Status write(const Write& write) override;
  Status flush() override;
  Status progress(ConnectionHandler& handler) override;
  Status status() const override;
  int event_fd() const override { return parts_.own_event.get(); }
  bool prepare_wait() override;
  Counters counters() const override;

  bool writes_directly() const { return parts_.peer_memory.usable(); }

 private:
  static constexpr size_t kInline = 8 << 10;      // larger writes are pushed directly
  static constexpr size_t kPushBudget = 1 << 20;  // bytes of large writes per call
  static constexpr size_t kPullBudget = 1 << 20;
  static constexpr int kPullEntries = 64;
  static constexpr Duration kGatePatience = std::chrono::milliseconds(100);

  struct Control {
    EntryType type;
    uint32_t windows = 0;
    std::vector<std::byte> body;
  };
  struct PendingWrite {
    Write write;  // its record span is not used
    std::array<std::byte, kMaxRecord> record;
    size_t record_size = 0;
    size_t done = 0;
    std::span<const std::byte> record_bytes() const { return {record.data(), record_size}; }
  };
  struct Awaited {  // confirmation when the consumer has passed `position`
    uint64_t position;
    uint64_t token;
  };

  SideControl& mine() const { return parts_.segment.side(parts_.side); }
  SideControl& theirs() const { return parts_.segment.side(1 - parts_.side); }

  Status push();
  Result<bool> push_control();
  Result<bool> push_small();
  Status push_large();
  Result<bool> push_directly(PendingWrite& pending, size_t& budget);
  Result<bool> push_through_ring(PendingWrite& pending, size_t& budget);
  Result<bool> publish_piece(PendingWrite& pending, size_t size);
  Status direct_failed(PendingWrite& pending, const Error& error);
  Status collect_landed();
  Status pull(ConnectionHandler& handler);
  Status take(const Entry& entry, ConnectionHandler& handler);
  Status take_piece(const Entry& entry, ConnectionHandler& handler);
  Status take_announcement(const Entry& entry, ConnectionHandler& handler);
  std::span<const std::byte> copy_head(const Entry& entry);
  Status complete(ConnectionHandler& handler);
  void kick();

  Status check_departure();
  Status reject(Error error);
  Status handled(Status status_of_handler);
  void end_with(Error error, const std::string& words);
  void close_gate();
  void revoke(WindowId window);

  Context& context_;
  const std::string peer_;
  const pid_t owner_;
  Parts parts_;
  Producer producer_;
  Consumer consumer_;
  Watch watch_;  // after parts_: its end comes before the event descriptor's
  WindowTable windows_;
  std::deque<Control> control_;
  std::deque<PendingWrite> small_;
  std::deque<PendingWrite> large_;
  std::deque<Awaited> awaited_;
  std::deque<uint64_t> completed_;
  std::array<std::byte, kMaxMessage> head_copy_;
  bool touched_ = false;  // something was published or consumed since the last kick
  bool slept_ = false;
  uint64_t last_tail_ = 0;  // the peer's progress in our ring when push() last looked
  uint64_t direct_sent_ = 0;
  uint64_t direct_received_ = 0;
  Departure departure_;
  std::optional<Error> error_;
};

}  // namespace sluice::transport::shm
