// SPDX-License-Identifier: Apache-2.0
// Connection over tcp streams. A write is framed; the receiver reads its bytes straight into the
// window and acknowledges, cumulatively, what has landed. Thread rule, units:
// transport/transport.h.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <vector>

#include "transport/departure.h"
#include "transport/endpoint.h"
#include "transport/tcp/landing.h"
#include "transport/tcp/outgoing.h"
#include "transport/tcp/stream.h"
#include "transport/window_table.h"

namespace sluice::transport::tcp {

class TcpConnection final : public Connection, private FrameSink {
 public:
  // `sockets`: connected, non-blocking; the first one carries control. `context` must outlive the
  // connection.
  TcpConnection(Context& context, std::string peer, std::vector<FileDescriptor> sockets,
                Watch watch);
  ~TcpConnection() override;

  Kind kind() const override { return Kind::tcp; }
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
  int event_fd() const override;
  bool prepare_wait() override;
  Counters counters() const override;

 private:
  Result<std::byte*> place(const FrameHeader& header) override;
  Status deliver(const FrameHeader& header, std::span<const std::byte> head) override;
  Status deliver_announcement(const FrameHeader& header, std::span<const std::byte> head);
  Status deliver_write(const FrameHeader& header, std::span<const std::byte> record);

  Status push();
  Status pull();
  Status complete();
  Status acknowledge();
  bool owes_acknowledgement() const;
  void stream_ended(Stream& stream);
  Status check_departure();
  // Ends the connection for a reason of ours, which the peer is told. Returns the error that
  // sticks.
  Status reject(Error error);
  Status handled(Status status_of_handler);
  void end_with(Error error, const std::string& words);
  void watch_stream(Stream& stream, bool add) const;

  Context& context_;
  const std::string peer_;
  const pid_t owner_;
  mutable FileDescriptor epoll_;  // made when first asked for: NCCL's threads poll
  mutable FileDescriptor wake_;
  mutable Watch watch_;  // after wake_: must end first
  std::vector<std::unique_ptr<Stream>> streams_;
  WindowTable windows_;
  Landing landing_;
  uint64_t acknowledgement_wanted_ = 0;  // one above the newest landed write whose sender waits
  Outgoing outgoing_;
  Departure departure_;
  std::optional<Error> error_;
  ConnectionHandler* handler_ = nullptr;  // during progress()
};

// Gives the sockets their options (type of service by stream) and makes the connection.
std::unique_ptr<Connection> make_connection(Context& context, std::string peer,
                                            std::vector<FileDescriptor> sockets, Watch watch);

}  // namespace sluice::transport::tcp
