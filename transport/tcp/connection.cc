// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "transport/socket_options.h"

namespace sluice::transport::tcp {

TcpConnection::TcpConnection(Context& context, std::string peer,
                             std::vector<FileDescriptor> sockets, Watch watch)
    : context_(context),
      peer_(std::move(peer)),
      owner_(::getpid()),
      watch_(std::move(watch)),
      outgoing_(sockets.size()) {
  for (FileDescriptor& socket : sockets) {
    streams_.push_back(std::make_unique<Stream>(std::move(socket), streams_.empty()));
  }
}

TcpConnection::~TcpConnection() {
  if (::getpid() != owner_ || error_) return;
  for (auto& stream : streams_) stream->say_goodbye({});
}

Result<std::unique_ptr<MemoryRegion>> TcpConnection::register_memory(void* data, size_t size,
                                                                     MemoryType type) {
  return register_host_memory(Kind::tcp, data, size, type);
}

Status TcpConnection::announce(std::span<const LocalWindow> windows,
                               std::span<const std::byte> note) {
  SLUICE_RETURN_IF_ERROR(status());
  SLUICE_RETURN_IF_ERROR(check_announcement(windows, note));
  for (const LocalWindow& window : windows) windows_.set(window);
  outgoing_.add_announcement(windows, note);
  return {};
}

void TcpConnection::withdraw(WindowId window) {
  windows_.withdraw(window);
  const auto hit = [&](const auto& stream) { return stream->writes_into(window); };
  if (error_ || std::none_of(streams_.begin(), streams_.end(), hit)) return;
  (void)reject({ErrorKind::invalid_usage, 0,
                format_text("%s: window %u was withdrawn while the peer was writing into it",
                            peer_.c_str(), window)});
}

Status TcpConnection::send_message(std::span<const std::byte> head,
                                   std::span<const std::byte> body) {
  SLUICE_RETURN_IF_ERROR(status());
  SLUICE_RETURN_IF_ERROR(check_message(head.size() + body.size()));
  outgoing_.add_message(head, body);
  return {};
}

Status TcpConnection::write(const Write& write) {
  SLUICE_RETURN_IF_ERROR(status());
  SLUICE_RETURN_IF_ERROR(check_write(write));
  outgoing_.add_write(write);
  return {};
}

Status TcpConnection::flush() {
  SLUICE_RETURN_IF_ERROR(status());
  return push();
}

Status TcpConnection::progress(ConnectionHandler& handler) {
  SLUICE_RETURN_IF_ERROR(status());
  handler_ = &handler;
  Status result = push();
  if (result) result = pull();
  if (result) result = complete();
  if (result) result = acknowledge();
  if (result) result = push();
  if (result) result = check_departure();
  handler_ = nullptr;
  return result;
}

// Round after round over the streams, so that a large write spreads; bounded.
Status TcpConnection::push() {
  constexpr int kMaxRounds = 4;
  bool more = true;
  for (int round = 0; round < kMaxRounds && more; ++round) {
    more = false;
    for (auto& stream : streams_) {
      if (stream->ended()) continue;
      auto outcome = stream->send(outgoing_, landing_.landed_below());
      if (!outcome) {
        // What the peer sent before it went may still be readable: the end is decided there.
        departure_.note(outcome.error().system_errno);
        return {};
      }
      more = more || *outcome == Stream::Outcome::more;
    }
  }
  return {};
}

Status TcpConnection::pull() {
  for (auto& stream : streams_) {
    if (stream->ended()) continue;
    auto outcome = stream->receive(*this);
    if (error_) return status();
    if (outcome && *outcome != Stream::Outcome::ended) continue;
    if (!outcome && outcome.error().kind != ErrorKind::system) {
      return reject({outcome.error().kind, 0, peer_ + " " + outcome.error().message});
    }
    departure_.note(outcome ? 0 : outcome.error().system_errno);
    stream_ended(*stream);
  }
  return {};
}

void TcpConnection::stream_ended(Stream& stream) {
  stream.mark_ended();
  if (epoll_) (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stream.fd(), nullptr);
}

Status TcpConnection::complete() {
  // Tokens that the handler's own posts complete wait for the next call.
  for (size_t left = outgoing_.completions().size(); left > 0; --left) {
    const uint64_t token = outgoing_.completions().front();
    outgoing_.completions().pop_front();
    SLUICE_RETURN_IF_ERROR(handled(handler_->on_written(token)));
  }
  return {};
}

bool TcpConnection::owes_acknowledgement() const {
  const uint64_t landed = landing_.landed_below();
  const uint64_t told = outgoing_.stamped();
  return landed > told && (told < acknowledgement_wanted_ || landed - told >= kAcknowledgeEvery);
}

// Frames that wait carry it anyway.
Status TcpConnection::acknowledge() {
  if (owes_acknowledgement() && !outgoing_.has_frame(true)) outgoing_.add_acknowledgement();
  return {};
}

Result<std::byte*> TcpConnection::place(const FrameHeader& header) {
  SLUICE_RETURN_IF_ERROR(landing_.expect(header));
  // The whole write must fit, not just this piece.
  auto start = windows_.locate(header.window, header.offset, header.whole_size);
  if (!start) return fail(ErrorKind::remote, "sent " + start.error().message);
  return *start == nullptr ? nullptr : *start + header.position;
}

Status TcpConnection::deliver(const FrameHeader& header, std::span<const std::byte> head) {
  SLUICE_RETURN_IF_ERROR(outgoing_.acknowledged(header.acknowledged));
  switch (static_cast<FrameType>(header.type)) {
    case FrameType::message:
      return handled(handler_->on_message(head));
    case FrameType::announcement:
      return deliver_announcement(header, head);
    case FrameType::write:
      return deliver_write(header, head);
    case FrameType::acknowledgement:
      return {};
    case FrameType::goodbye:
      departure_.say(printable({reinterpret_cast<const char*>(head.data()), head.size()}));
      return {};
  }
  return {};
}

Status TcpConnection::deliver_announcement(const FrameHeader& header,
                                           std::span<const std::byte> head) {
  std::array<RemoteWindow, kMaxWindowsPerNote> windows;
  for (uint32_t i = 0; i < header.window; ++i) {
    WireWindow wire;
    std::memcpy(&wire, head.data() + i * sizeof wire, sizeof wire);
    if (wire.id >= kMaxWindows) {
      return fail(ErrorKind::remote, "announced a window beyond the largest number");
    }
    windows[i] = {static_cast<WindowId>(wire.id), wire.size, wire.address, wire.key};
  }
  return handled(handler_->on_announcement(std::span(windows.data(), header.window),
                                           head.subspan(header.window * sizeof(WireWindow))));
}

Status TcpConnection::deliver_write(const FrameHeader& header, std::span<const std::byte> record) {
  auto whole = landing_.piece_landed(header, record);
  if (!whole) return fail(std::move(whole).error());
  if (header.wants_acknowledgement != 0) {
    acknowledgement_wanted_ = std::max(acknowledgement_wanted_, header.write_id + 1);
  }
  if (*whole == nullptr) return {};
  const Landing::Whole& write = **whole;
  return handled(handler_->on_arrival(write.window, write.offset, write.size,
                                      std::span(write.record.data(), write.record_size)));
}

std::unique_ptr<Connection> make_connection(Context& context, std::string peer,
                                            std::vector<FileDescriptor> sockets, Watch watch) {
  const Settings& settings = context.settings();
  for (size_t i = 0; i < sockets.size(); ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    (void)::getsockname(sockets[i].get(), reinterpret_cast<sockaddr*>(&address), &size);
    apply_options(sockets[i].get(), address.ss_family, SocketRole::data, settings);
    if (i > 0) set_type_of_service(sockets[i].get(), address.ss_family, settings.adaptive_tos);
  }
  return std::make_unique<TcpConnection>(context, std::move(peer), std::move(sockets),
                                         std::move(watch));
}

}  // namespace sluice::transport::tcp
