// SPDX-License-Identifier: Apache-2.0
#include "transport/setup/embryo.h"

#include <unistd.h>

#include <algorithm>

#include "transport/setup/host.h"
#include "transport/socket_options.h"
#include "transport/tcp/connection.h"

namespace sluice::transport {

std::string peer_text(const std::string& address, const std::string& host_name, uint32_t process) {
  return format_text("%s (%s, pid %u)", address.c_str(), host_name.c_str(), process);
}

uint64_t to_wire(Duration timeout) {
  if (timeout == Duration::max()) return kForEver;
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
}

Duration from_wire(uint64_t milliseconds) {
  constexpr uint64_t kDay = 24ULL * 3600 * 1000;
  return milliseconds > kDay ? Duration::max() : std::chrono::milliseconds(milliseconds);
}

Embryo::Embryo(const Host& host, SetupSocket socket, const Hello& hello, std::string peer)
    : host_(host),
      socket_(std::move(socket)),
      hello_(hello),
      peer_(std::move(peer)),
      nonce_(random_number()) {}

Result<std::unique_ptr<Embryo>> Embryo::create(const Host& host, SetupSocket socket,
                                               const Hello& hello, const std::string& from) {
  auto peer = peer_text(from, text_in(hello.host_name), hello.process);
  std::unique_ptr<Embryo> embryo(new Embryo(host, std::move(socket), hello, std::move(peer)));
  if (hello.purpose != static_cast<uint16_t>(host.purpose)) {
    return fail(embryo
                    ->refuse(format_text("this listener is for purpose %u, not %u",
                                         static_cast<unsigned>(host.purpose), hello.purpose))
                    .error());
  }
  if (host.secret != 0 && hello.secret != host.secret) {
    return fail(
        embryo
            ->refuse("the hello does not hold this listener's secret: it was meant for another "
                     "listener that had this port before")
            .error());
  }
  auto kind = embryo->choose();
  if (!kind) return fail(embryo->refuse(kind.error().message).error());
  SLUICE_RETURN_IF_ERROR(embryo->welcome(*kind));
  return embryo;
}

Result<Kind> Embryo::choose() const {
  const TransportChoice ours = host_.context.settings().choice;
  const auto theirs = static_cast<TransportChoice>(hello_.choice);
  const bool tcp_only = ours == TransportChoice::tcp || theirs == TransportChoice::tcp;
  const bool shm_only = ours == TransportChoice::shm || theirs == TransportChoice::shm;
  if (tcp_only && shm_only) {
    return fail(ErrorKind::refused,
                "one side allows only tcp, the other only shm: set SLUICE_TRANSPORT alike");
  }
  const bool same_host = host_.identity != 0 && hello_.host == host_.identity;
  if (shm_only && !same_host) {
    return fail(ErrorKind::refused,
                "only shm is allowed, but the two processes are on different hosts");
  }
  if (shm_only && host_.local_socket.empty()) {
    return fail(ErrorKind::refused,
                "only shm is allowed, but the listener has no unix socket for it");
  }
  return same_host && !tcp_only && !host_.local_socket.empty() ? Kind::shm : Kind::tcp;
}

Status Embryo::welcome(Kind kind) {
  kind_ = kind;
  const Settings& settings = host_.context.settings();
  const int streams = std::clamp<int>(std::max<int>(settings.streams, hello_.streams), 1, 64);
  streams_.clear();
  streams_.resize(static_cast<size_t>(streams));
  Welcome welcome;
  welcome.nonce = nonce_;
  welcome.peer_timeout_ms = to_wire(settings.peer_timeout);
  welcome.process = static_cast<uint32_t>(::getpid());
  welcome.streams = static_cast<uint16_t>(streams);
  welcome.kind = static_cast<uint8_t>(kind);
  welcome.cross_memory_attach = direct() ? 1 : 0;
  set_text(welcome.host_name, host_name());
  set_text(welcome.socket_name, host_.local_socket);
  return socket_.send(SetupType::welcome, welcome);
}

bool Embryo::direct() const {
  return host_.context.settings().cross_memory_attach && hello_.cross_memory_attach != 0;
}

// Always an error: the sentence, which the connector is told too.
Status Embryo::refuse(const std::string& sentence) {
  Refuse refuse;
  set_text(refuse.sentence, sentence);
  (void)socket_.send(SetupType::refuse, refuse);
  return fail(ErrorKind::refused, "was refused: " + sentence);
}

Status Embryo::attach(SetupSocket socket, uint32_t stream, bool local) {
  ++steps_;
  if (local) {
    if (kind_ != Kind::shm || local_)
      return fail(ErrorKind::remote, "attached a unix socket out of turn");
    local_.emplace(std::move(socket));
    auto parts = offer_shm(*local_, host_.context.settings());
    if (parts) {
      parts_ = std::move(*parts);
    } else {
      // The connector sees the socket close and asks for tcp.
      SLUICE_INFO(host_.context.logger(), net, "shm: %s: %s", peer_.c_str(),
                  parts.error().message.c_str());
      local_.reset();
    }
    return {};
  }
  if (kind_ != Kind::tcp || stream >= streams_.size() || streams_[stream]) {
    return fail(ErrorKind::remote, format_text("attached stream %u out of turn", stream));
  }
  streams_[stream] = socket.release();
  return {};
}

Status Embryo::read_setup() {
  auto message = socket_.receive();
  if (!message) return fail(std::move(message).error());
  if (!*message) return {};
  ++steps_;
  if ((*message)->type == SetupType::fallback && kind_ == Kind::shm) {
    return fall_back(text_in((*message)->as<Fallback>().reason));
  }
  if ((*message)->type == SetupType::refuse) {
    return fail(ErrorKind::remote, "gave up: " + text_in((*message)->as<Refuse>().sentence));
  }
  return fail(ErrorKind::remote, format_text("sent set-up message %u out of turn",
                                             static_cast<unsigned>((*message)->type)));
}

Status Embryo::fall_back(const std::string& reason) {
  if (host_.context.settings().choice == TransportChoice::shm) {
    return refuse("only shm is allowed here, and it failed: " + reason);
  }
  SLUICE_INFO(host_.context.logger(), net, "shm: %s takes tcp instead: %s", peer_.c_str(),
              reason.c_str());
  local_.reset();
  parts_.reset();
  return welcome(Kind::tcp);
}

Result<std::unique_ptr<Connection>> Embryo::progress() {
  SLUICE_RETURN_IF_ERROR(read_setup());
  return kind_ == Kind::shm ? progress_shm() : progress_tcp();
}

Result<Watch> Embryo::finish() {
  SLUICE_RETURN_IF_ERROR(socket_.send(SetupType::ready, Ready{nonce_}));
  return host_.context.liveness().watch(socket_.release(), from_wire(hello_.peer_timeout_ms));
}

Result<std::unique_ptr<Connection>> Embryo::progress_shm() {
  if (!local_) return nullptr;
  auto message = local_->receive();
  if (message && !*message) return nullptr;
  if (!message || (*message)->type != SetupType::mapped) {
    local_.reset();  // a connector that still lives asks for tcp
    return nullptr;
  }
  finish_shm(*parts_, *local_, **message, direct());
  auto watch = finish();
  if (!watch) return fail(std::move(watch).error());
  return std::make_unique<shm::ShmConnection>(host_.context, peer_, std::move(*parts_),
                                              std::move(*watch));
}

Result<std::unique_ptr<Connection>> Embryo::progress_tcp() {
  const auto attached = [](const FileDescriptor& stream) { return static_cast<bool>(stream); };
  if (!std::all_of(streams_.begin(), streams_.end(), attached)) return nullptr;
  auto watch = finish();
  if (!watch) return fail(std::move(watch).error());
  return tcp::make_connection(host_.context, peer_, std::move(streams_), std::move(*watch));
}

}  // namespace sluice::transport
