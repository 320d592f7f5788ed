// SPDX-License-Identifier: Apache-2.0
#include "transport/setup/connector.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/listener_address.h"
#include "transport/setup/embryo.h"
#include "transport/setup/host.h"
#include "transport/socket_options.h"
#include "transport/tcp/connection.h"

namespace sluice::transport {
namespace {

enum class Progress { pending, connected };

// How far a non-blocking connect() has come; an error carries its errno.
Result<Progress> progress_of(int socket) {
  pollfd poll_entry{socket, POLLOUT, 0};
  if (::poll(&poll_entry, 1, 0) <= 0) return Progress::pending;
  int error = 0;
  socklen_t size = sizeof error;
  (void)::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return fail_errno(error, "cannot be connected to");
  return Progress::connected;
}

// With nobody listening on an ephemeral port of this host, connect() can meet itself.
bool met_itself(int socket) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_size = sizeof own;
  socklen_t other_size = sizeof other;
  (void)::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size);
  (void)::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_size);
  return own_size == other_size && std::memcmp(&own, &other, own_size) == 0;
}

bool worth_retrying(int error) {
  return error == ECONNREFUSED || error == ETIMEDOUT || error == EHOSTUNREACH ||
         error == ENETUNREACH || error == ECONNRESET || error == EAGAIN;
}

}  // namespace

Result<std::unique_ptr<Connector>> Connector::open(Context& context, const ListenerAddress& address,
                                                   Purpose purpose) {
  SLUICE_RETURN_IF_ERROR(check(address, purpose));
  auto socket_address = socket_address_of(address);
  if (!socket_address) return fail(std::move(socket_address).error());
  return std::make_unique<TcpConnector>(context, address, *socket_address);
}

TcpConnector::TcpConnector(Context& context, const ListenerAddress& address,
                           const SocketAddress& socket_address)
    : context_(context),
      address_(address),
      socket_address_(socket_address),
      peer_(socket_address.text()),
      deadline_(Deadline::after(context.settings().connect_timeout)),
      next_try_(Clock::now()) {}

Result<std::unique_ptr<Connection>> TcpConnector::progress() {
  if (error_) return fail(*error_);
  if (state_ == State::done) return fail(ErrorKind::invalid_usage, peer_ + " is connected already");
  auto result = step();
  if (!result) return end_with(std::move(result).error());
  if (*result == nullptr && deadline_.passed()) return end_with(too_late());
  return result;
}

Result<std::unique_ptr<Connection>> TcpConnector::end_with(Error error) {
  SLUICE_WARN(context_.logger(), net, "%s", error.message.c_str());
  error_ = std::move(error);
  streams_.clear();
  local_.reset();
  parts_.reset();
  setup_.reset();
  connecting_.reset();
  return fail(*error_);
}

// As many steps as can be done now.
Result<std::unique_ptr<Connection>> TcpConnector::step() {
  State before = State::done;
  while (state_ != before) {
    before = state_;
    Status status;
    switch (state_) {
      case State::resting:
        status = start_connecting();
        break;
      case State::connecting:
        status = finish_connecting();
        break;
      case State::connecting_local:
        status = attach_local();
        break;
      case State::local_attached:
        status = await_offer();
        break;
      case State::attaching:
        status = attach_streams();
        break;
      case State::greeted:
      case State::prepared:
      case State::done:
        break;
    }
    if (status && setup_) status = await_answer();
    if (!status) return fail(std::move(status).error());
    if (state_ == State::done) return finish();
  }
  return nullptr;
}

Status TcpConnector::start_connecting() {
  if (Clock::now() < next_try_) return {};
  ++tries_;
  auto socket = make_socket(socket_address_.family(), SocketRole::setup, context_.settings());
  if (!socket) return fail(std::move(socket).error());
  connecting_ = std::move(*socket);
  if (::connect(connecting_.get(), socket_address_.get(), socket_address_.size()) != 0 &&
      errno != EINPROGRESS) {
    return retry_or_fail(errno);
  }
  state_ = State::connecting;
  return {};
}

Status TcpConnector::finish_connecting() {
  auto progress = progress_of(connecting_.get());
  if (!progress) return retry_or_fail(progress.error().system_errno);
  if (*progress == Progress::pending) return {};
  if (met_itself(connecting_.get())) return retry_or_fail(ECONNREFUSED);
  return greet();
}

Status TcpConnector::retry_or_fail(int error) {
  connecting_.reset();
  last_error_ = error;
  const Settings& settings = context_.settings();
  if (!worth_retrying(error) || tries_ > settings.connect_retries) {
    return fail_errno(
        error, format_text("no connection to %s after %d tries (is that process alive, and does "
                           "a firewall let it through?)",
                           peer_.c_str(), tries_));
  }
  next_try_ = Clock::now() + settings.retry_sleep * tries_;
  state_ = State::resting;
  return {};
}

Status TcpConnector::greet() {
  setup_.emplace(std::move(connecting_));
  const Settings& settings = context_.settings();
  Hello hello;
  hello.secret = address_.secret;
  hello.host = host_identity();
  hello.peer_timeout_ms = to_wire(settings.peer_timeout);
  hello.process = static_cast<uint32_t>(::getpid());
  hello.purpose = address_.purpose;
  hello.streams = static_cast<uint16_t>(std::clamp(settings.streams, 1, 64));
  hello.choice = static_cast<uint8_t>(settings.choice);
  hello.cross_memory_attach = settings.cross_memory_attach ? 1 : 0;
  set_text(hello.host_name, host_name());
  SLUICE_RETURN_IF_ERROR(setup_->send(SetupType::hello, hello));
  state_ = State::greeted;
  return {};
}

// The listener may speak at any time: welcome, ready, or a refusal.
Status TcpConnector::await_answer() {
  auto message = setup_->receive();
  if (!message)
    return fail({message.error().kind, message.error().system_errno,
                 peer_ + " " + message.error().message + ": is it a listener of this job?"});
  if (!*message) return {};
  const SetupType type = (*message)->type;
  if (type == SetupType::refuse) {
    return fail(ErrorKind::refused,
                peer_ + " refused the connection: " + text_in((*message)->as<Refuse>().sentence));
  }
  if (type == SetupType::welcome && state_ == State::greeted) {
    return take_welcome((*message)->as<Welcome>());
  }
  if (type == SetupType::ready && state_ == State::prepared) {
    state_ = State::done;
    return {};
  }
  return fail(ErrorKind::remote, format_text("%s sent set-up message %u out of turn", peer_.c_str(),
                                             static_cast<unsigned>(type)));
}

Status TcpConnector::take_welcome(const Welcome& welcome) {
  welcome_ = welcome;
  peer_ = peer_text(socket_address_.text(), text_in(welcome.host_name), welcome.process);
  if (welcome.kind == static_cast<uint8_t>(Kind::shm)) {
    state_ = State::connecting_local;
    return {};
  }
  if (welcome.kind != static_cast<uint8_t>(Kind::tcp) || welcome.streams < 1 ||
      welcome.streams > 64) {
    return fail(ErrorKind::remote,
                format_text("%s wants transport %u with %u streams, which is unknown here",
                            peer_.c_str(), welcome.kind, welcome.streams));
  }
  return start_streams();
}

Status TcpConnector::attach_local() {
  auto socket = connect_local(text_in(welcome_.socket_name));
  if (!socket) return fall_back(socket.error().message);
  if (!*socket) return {};
  local_.emplace(std::move(*socket));
  state_ = State::local_attached;
  if (local_->send(SetupType::attach, Attach{welcome_.nonce, 0})) return {};
  return fall_back("the unix socket of the other process takes nothing");
}

Status TcpConnector::await_offer() {
  auto message = local_->receive();
  if (!message) return fall_back("the other process " + message.error().message);
  if (!*message) return {};
  const bool direct = context_.settings().cross_memory_attach && welcome_.cross_memory_attach != 0;
  auto parts = accept_shm(*local_, **message, direct);
  if (!parts) return fall_back(parts.error().message);
  parts_ = std::move(*parts);
  state_ = State::prepared;
  return {};
}

Status TcpConnector::fall_back(const std::string& reason) {
  local_.reset();
  parts_.reset();
  if (context_.settings().choice == TransportChoice::shm) {
    Refuse refuse;
    set_text(refuse.sentence, "only shm is allowed here, and it failed: " + reason);
    (void)setup_->send(SetupType::refuse, refuse);
    return fail(ErrorKind::remote, "no shared memory with " + peer_ +
                                       ", and SLUICE_TRANSPORT allows nothing "
                                       "else: " +
                                       reason);
  }
  SLUICE_INFO(context_.logger(), net, "no shared memory with %s, tcp instead: %s", peer_.c_str(),
              reason.c_str());
  Fallback fallback;
  set_text(fallback.reason, reason);
  state_ = State::greeted;
  return setup_->send(SetupType::fallback, fallback);
}

Status TcpConnector::start_streams() {
  state_ = State::attaching;
  for (int i = 0; i < welcome_.streams; ++i) {
    auto socket = make_socket(socket_address_.family(), SocketRole::data, context_.settings());
    if (!socket) return fail(std::move(socket).error());
    if (::connect(socket->get(), socket_address_.get(), socket_address_.size()) != 0 &&
        errno != EINPROGRESS) {
      return fail_errno(errno, format_text("no stream %d to %s", i, peer_.c_str()));
    }
    streams_.push_back({std::move(*socket)});
  }
  return {};
}

Status TcpConnector::attach_streams() {
  bool all = true;
  for (size_t i = 0; i < streams_.size(); ++i) {
    StreamAttempt& stream = streams_[i];
    if (stream.attached) continue;
    auto progress = progress_of(stream.socket.get());
    if (!progress) {
      return fail_errno(progress.error().system_errno,
                        format_text("no stream %zu to %s", i, peer_.c_str()));
    }
    if (*progress == Progress::pending) {
      all = false;
      continue;
    }
    SetupSocket socket(std::move(stream.socket));
    SLUICE_RETURN_IF_ERROR(
        socket.send(SetupType::attach, Attach{welcome_.nonce, static_cast<uint32_t>(i)}));
    stream.socket = socket.release();
    stream.attached = true;
  }
  if (all) state_ = State::prepared;
  return {};
}

Result<std::unique_ptr<Connection>> TcpConnector::finish() {
  auto watch = context_.liveness().watch(setup_->release(), from_wire(welcome_.peer_timeout_ms));
  setup_.reset();
  if (!watch) return fail(std::move(watch).error());
  if (parts_) {
    return std::make_unique<shm::ShmConnection>(context_, peer_, std::move(*parts_),
                                                std::move(*watch));
  }
  std::vector<FileDescriptor> sockets;
  for (StreamAttempt& stream : streams_) sockets.push_back(std::move(stream.socket));
  return tcp::make_connection(context_, peer_, std::move(sockets), std::move(*watch));
}

Error TcpConnector::too_late() const {
  const double seconds = in_seconds(context_.settings().connect_timeout);
  const char* what = "the set-up did not finish with";
  switch (state_) {
    case State::resting:
    case State::connecting:
      if (last_error_ != 0) {
        return {
            ErrorKind::timeout, last_error_,
            format_text(
                "no connection to %s within %g s, %d tries: %s: is that process alive, and does a "
                "firewall let it through?",
                peer_.c_str(), seconds, tries_, std::strerror(last_error_))};
      }
      return {ErrorKind::timeout, 0,
              format_text(
                  "no connection to %s within %g s: no answer at all: is the host up, and does a "
                  "firewall let it through?",
                  peer_.c_str(), seconds)};
    case State::greeted:
      what = "no answer to the hello from";
      break;
    default:
      break;
  }
  return {ErrorKind::timeout, 0,
          format_text("%s %s within %g s: is Sluice loaded on that host, and does it accept?", what,
                      peer_.c_str(), seconds)};
}

}  // namespace sluice::transport
