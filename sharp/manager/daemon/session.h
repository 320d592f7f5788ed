// SPDX-License-Identifier: Apache-2.0
// One connection to the manager: a stranger until its first message, then a client or a node.
//
// Nothing it sends is trusted: what cannot be understood costs this connection. Owned by the
// server, which destroys it between events. Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sharp/manager/daemon/outbox.h"
#include "sharp/wire/pieces.h"
#include "transport/transport.h"

namespace sluice::manager {

class Session final : public transport::ConnectionHandler {
 public:
  class Owner {
   public:
    // An error ends the session.
    virtual Status on_message(Session& session, const sharp::Envelope& message) = 0;

   protected:
    ~Owner() = default;
  };

  Session(PeerId id, std::unique_ptr<transport::Connection> connection, Owner& owner);

  PeerId id() const { return id_; }
  const std::string& peer() const { return connection_->peer(); }
  transport::Connection& connection() { return *connection_; }

  // Pushes and reads.
  void drive();
  // Kept until push().
  void post(std::vector<sharp::Message> pieces);
  // Sends what was posted. True: something was.
  bool push();
  // No more is read; ended() comes when what was posted is out, or soon.
  void dismiss(const std::string& reason);

  bool ended() const { return ended_ || (dismissed_ && farewell_.passed()) || late(); }
  // Why; empty: nothing to say.
  std::string complaint() const;
  bool spoke() const { return spoke_; }

  bool active = false;  // the event loop's own note

 private:
  Status on_announcement(std::span<const transport::RemoteWindow> windows,
                         std::span<const std::byte> note) override;
  Status on_message(std::span<const std::byte> message) override;
  Status on_arrival(transport::WindowId window, uint64_t offset, uint64_t size,
                    std::span<const std::byte> record) override;
  Status on_written(uint64_t token) override;
  bool late() const { return !spoke_ && first_words_.passed(); }
  void end(const std::string& reason);

  const PeerId id_;
  Owner& owner_;
  std::unique_ptr<transport::Connection> connection_;
  sharp::PieceCollector collector_;
  std::vector<sharp::Message> posted_;
  uint64_t bytes_posted_ = 0;  // since the start
  Deadline first_words_;
  Deadline farewell_;
  bool spoke_ = false;
  bool dismissed_ = false;
  bool ended_ = false;
  std::string complaint_;
};

}  // namespace sluice::manager
