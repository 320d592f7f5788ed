// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/daemon/session.h"

#include <utility>

namespace sluice::manager {
namespace {

constexpr auto kTimeToSpeak = std::chrono::seconds(10);
constexpr auto kTimeToPart = std::chrono::seconds(1);
// What a peer may leave unread of its answers; a tree for 4096 ranks has 300 KB at most.
constexpr uint64_t kMostUnread = 8 << 20;

}  // namespace

Session::Session(PeerId id, std::unique_ptr<transport::Connection> connection, Owner& owner)
    : id_(id),
      owner_(owner),
      connection_(std::move(connection)),
      first_words_(Deadline::after(kTimeToSpeak)) {}

void Session::drive() {
  if (ended_) return;
  if (const Status status = connection_->progress(*this); !status) end(status.error().message);
}

void Session::end(const std::string& reason) {
  if (ended_) return;
  ended_ = true;
  if (complaint_.empty()) complaint_ = reason;
}

void Session::post(std::vector<sharp::Message> pieces) {
  for (sharp::Message& piece : pieces) {
    bytes_posted_ += piece.size();
    posted_.push_back(std::move(piece));
  }
}

bool Session::push() {
  if (posted_.empty() || ended_) return false;
  for (const sharp::Message& piece : std::exchange(posted_, {})) {
    if (const Status sent = connection_->send_message(piece, {}); !sent) {
      end(sent.error().message);
      return true;
    }
  }
  if (const Status flushed = connection_->flush(); !flushed) end(flushed.error().message);
  // Every message has a frame around it, so more bytes are sent than were posted.
  if (bytes_posted_ > connection_->counters().bytes_sent + kMostUnread) {
    end("does not read what it is answered");
  }
  return true;
}

void Session::dismiss(const std::string& reason) {
  if (dismissed_) return;
  dismissed_ = true;
  complaint_ = reason;
  farewell_ = Deadline::after(kTimeToPart);
}

std::string Session::complaint() const {
  return complaint_.empty() && late() ? "said nothing" : complaint_;
}

Status Session::on_message(std::span<const std::byte> message) {
  if (dismissed_) return {};
  const auto envelope = collector_.add(message);
  if (!envelope) return fail(envelope.error());
  if (!*envelope) return {};
  SLUICE_RETURN_IF_ERROR(owner_.on_message(*this, **envelope));
  spoke_ = true;
  return {};
}

Status Session::on_announcement(std::span<const transport::RemoteWindow>,
                                std::span<const std::byte>) {
  return fail(ErrorKind::remote, "announced a window to the manager");
}

Status Session::on_arrival(transport::WindowId, uint64_t, uint64_t, std::span<const std::byte>) {
  return fail(ErrorKind::remote, "wrote data to the manager");
}

Status Session::on_written(uint64_t) {
  return {};
}

}  // namespace sluice::manager
