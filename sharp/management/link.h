// SPDX-License-Identifier: Apache-2.0
// The way to the manager, for those who depend on it: rank 0's client and the aggregation node.
//
// Of several managers one is connected at a time; when it is lost the next is tried, for ever, with
// growing pauses. Nothing blocks: progress() is to be called every now and then. Connections are
// tcp, whatever the data goes by. Nothing runs when it is not called, except the liveness thread of
// its own context while it is connected. Thread rule: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/wire/pieces.h"
#include "transport/endpoint.h"

namespace sluice::sharp {

class ManagementLink final : private transport::ConnectionHandler {
 public:
  class Handler {
   public:
    // Called from within progress(); may send.
    virtual void on_manager_connected() = 0;
    // An error ends the connection.
    virtual Status on_manager_message(const Envelope& message) = 0;
    virtual void on_manager_lost() = 0;

   protected:
    ~Handler() = default;
  };

  // `settings` are those of the caller's data; what the link needs otherwise it sets itself.
  // `handler` outlives the link.
  ManagementLink(const transport::Settings& settings,
                 std::vector<transport::SocketAddress> managers, Handler& handler);
  ~ManagementLink() override;

  void progress();
  // What is sent without a connection is dropped.
  template <typename T>
  void send(const T& value) {
    for (const Message& piece : encode_pieces(value)) post(piece);
    flush();
  }

  bool connected() const { return connection_ != nullptr; }
  // "10.0.0.1:7600": the one that is connected, or was tried last.
  std::string manager() const;
  // All of them, for texts.
  std::string managers() const;
  // Why there is no connection; empty while there is one, or before the first try has failed.
  const std::string& trouble() const { return trouble_; }

 private:
  void connect();
  void lose(const std::string& reason);
  void post(const Message& piece);
  void flush();

  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;

  transport::Context context_;
  const std::vector<transport::SocketAddress> managers_;
  Handler& handler_;
  size_t next_ = 0;  // of managers_
  std::unique_ptr<transport::Connector> connector_;
  std::unique_ptr<transport::Connection> connection_;
  PieceCollector collector_;
  TimePoint next_try_{};
  Duration pause_;
  std::string trouble_;
};

}  // namespace sluice::sharp
