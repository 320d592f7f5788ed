// SPDX-License-Identifier: Apache-2.0
#include "transport/setup/listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "transport/listener_address.h"
#include "transport/setup/host.h"
#include "transport/socket_options.h"

namespace sluice::transport {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);  // per step of a guest or embryo
constexpr size_t kMostGuests = 1024;
constexpr Duration kLateCall = std::chrono::seconds(1);

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(Context& context, const Options& options) {
  return TcpListener::open(context, options);
}

Result<std::unique_ptr<Listener>> TcpListener::open(Context& context, const Options& options) {
  Host host{context, options.purpose, options.secret ? random_number() : 0, host_identity(), {}};
  std::unique_ptr<TcpListener> listener(new TcpListener(std::move(host)));
  SLUICE_RETURN_IF_ERROR(listener->bind_to(options));
  if (context.settings().choice != TransportChoice::tcp) listener->open_local();
  return listener;
}

Status TcpListener::bind_to(const Options& options) {
  const SocketAddress& wanted = options.bind;
  if (wanted.size() == 0) return fail(ErrorKind::invalid_argument, "no address to listen on");
  auto socket = make_socket(wanted.family(), SocketRole::data, host_.context.settings());
  if (!socket) return fail(std::move(socket).error());
  const int on = 1;
  const int off = 0;
  if (wanted.port() != 0) {
    (void)::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (wanted.family() == AF_INET6) {
    (void)::setsockopt(socket->get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(socket->get(), wanted.get(), wanted.size()) != 0) {
    return fail_errno(errno, "cannot listen on " + wanted.text());
  }
  // For any port only now, or two listeners could be given the same one. Connections inherit it:
  // a daemon that is started again gets its port back while they are fading.
  (void)::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::listen(socket->get(), SOMAXCONN) != 0) {
    return fail_errno(errno, "cannot listen on " + wanted.text());
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  (void)::getsockname(socket->get(), reinterpret_cast<sockaddr*>(&bound), &size);
  auto address = SocketAddress::from(reinterpret_cast<const sockaddr*>(&bound), size);
  if (!address) return fail(std::move(address).error());
  text_ = address->text();
  address_ = make_address(*address, host_.purpose, host_.secret, host_.identity);
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  listening_ = std::move(*socket);
  if (!epoll_ || !watch(listening_.get(), kListeningId)) {
    return fail_errno(errno, "no event descriptor for listening on " + text_);
  }
  return {};
}

// Without it there is no shm, which the connectors are told.
void TcpListener::open_local() {
  const std::string name =
      format_text("sluice-%016llx", static_cast<unsigned long long>(random_number()));
  auto socket = listen_local(name);
  if (!socket) {
    SLUICE_INFO(host_.context.logger(), net, "%s", socket.error().message.c_str());
    return;
  }
  local_ = std::move(*socket);
  if (watch(local_.get(), kLocalId)) host_.local_socket = name;
}

bool TcpListener::watch(int fd, uint64_t id) {
  epoll_event event{EPOLLIN, {.u64 = id}};
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Result<std::unique_ptr<Connection>> TcpListener::accept() {
  if (broken_) return fail(*broken_);
  handle_events();
  expire();
  if (!ready_.empty()) {
    auto connection = std::move(ready_.front());
    ready_.pop_front();
    waiting_.reset();
    return connection;
  }
  if (broken_) return fail(*broken_);
  const Duration timeout = host_.context.settings().accept_timeout;
  if (!waiting_) waiting_ = Deadline::after(timeout);
  if (!waiting_->passed()) return nullptr;
  return fail(
      ErrorKind::timeout,
      format_text("nobody has connected to %s within %g s (SLUICE_ACCEPT_TIMEOUT): did the other "
                  "rank start, and may it reach this address?",
                  text_.c_str(), in_seconds(timeout)));
}

void TcpListener::handle_events() {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t id = events[i].data.u64;
    if (id == kListeningId) {
      welcome_guests(listening_.get(), false);
    } else if (id == kLocalId) {
      welcome_guests(local_.get(), true);
    } else if (guests_.contains(id)) {
      hear(id);
    } else if (embryos_.contains(id)) {
      grow(id);
    }
  }
}

void TcpListener::welcome_guests(int listening, bool local) {
  while (guests_.size() + embryos_.size() < kMostGuests) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    FileDescriptor socket(::accept4(listening, reinterpret_cast<sockaddr*>(&address), &size,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      const int error = errno;
      if (error == EINTR || error == ECONNABORTED) continue;
      if (error == EBADF || error == EINVAL) {
        broken_ = Error{ErrorKind::system, error, "the listening socket " + text_ + " broke"};
      } else if (error != EAGAIN && error != EWOULDBLOCK && bad_guests_.allow()) {
        SLUICE_WARN(host_.context.logger(), net, "%s cannot accept: %s (errno %d)", text_.c_str(),
                    std::strerror(error), error);
      }
      return;
    }
    std::string from = "a local process";
    if (!local) {
      apply_options(socket.get(), address.ss_family, SocketRole::setup, host_.context.settings());
      const auto socket_address =
          SocketAddress::from(reinterpret_cast<const sockaddr*>(&address), size);
      if (socket_address) from = socket_address->text();
    }
    const uint64_t id = next_id_++;
    if (!watch(socket.get(), id)) continue;
    guests_.emplace(id, Guest{SetupSocket(std::move(socket)), std::move(from), local,
                              Clock::now() + kPatience});
    hear(id);
  }
}

// A guest's first message says what it wants.
void TcpListener::hear(uint64_t id) {
  const auto found = guests_.find(id);
  auto message = found->second.socket.receive();
  if (message && !*message) return;
  Guest guest = std::move(found->second);
  guests_.erase(found);
  if (!message) {
    Refuse refuse;
    set_text(refuse.sentence, guest.from + " " + message.error().message);
    (void)guest.socket.send(SetupType::refuse, refuse);
    return dismiss(guest.from, message.error());
  }
  introduce(id, std::move(guest), **message);
}

void TcpListener::introduce(uint64_t id, Guest guest, const SetupMessage& message) {
  if (message.type == SetupType::attach) return attach(std::move(guest), message.as<Attach>());
  if (message.type != SetupType::hello || guest.local) {
    return dismiss(guest.from, {ErrorKind::remote, 0, "did not start with a hello"});
  }
  auto embryo = Embryo::create(host_, std::move(guest.socket), message.as<Hello>(), guest.from);
  if (!embryo) return dismiss(guest.from, embryo.error());
  embryos_.emplace(id, Growing{std::move(*embryo), 0, Clock::now() + kPatience});
  grow(id);
}

void TcpListener::attach(Guest guest, const Attach& attach) {
  const auto wanted = [&](const auto& entry) {
    return entry.second.embryo->nonce() == attach.nonce;
  };
  const auto found = std::find_if(embryos_.begin(), embryos_.end(), wanted);
  if (found == embryos_.end()) {
    return dismiss(guest.from,
                   {ErrorKind::remote, 0, "attached to a set-up that is not under way"});
  }
  const uint64_t id = found->first;
  const int fd = guest.socket.fd();
  // A unix socket goes on talking: its events are its embryo's now.
  epoll_event event{EPOLLIN, {.u64 = id}};
  (void)::epoll_ctl(epoll_.get(), guest.local ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, fd, &event);
  const Status attached =
      found->second.embryo->attach(std::move(guest.socket), attach.stream, guest.local);
  if (!attached) return dismiss(guest.from, attached.error());
  grow(id);
}

void TcpListener::grow(uint64_t id) {
  const auto found = embryos_.find(id);
  Growing& growing = found->second;
  const int setup_fd = growing.embryo->setup_fd();
  auto connection = growing.embryo->progress();
  if (!connection) {
    dismiss(growing.embryo->peer(), connection.error());
    embryos_.erase(found);
  } else if (*connection != nullptr) {
    // The set-up socket lives on as the connection's liveness channel, which is not ours to watch.
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, setup_fd, nullptr);
    ready_.push_back(std::move(*connection));
    embryos_.erase(found);
  } else if (growing.embryo->steps() != growing.steps) {
    growing.steps = growing.embryo->steps();
    growing.deadline = Clock::now() + kPatience;
  }
}

void TcpListener::expire() {
  const TimePoint now = Clock::now();
  // When nobody called us for a while, the guests are not to blame.
  const Duration gap = now - std::exchange(last_call_, now);
  const Duration excused = gap > kLateCall ? gap : Duration::zero();
  const auto drop = [&](auto& table, const auto& name_of_entry) {
    for (auto entry = table.begin(); entry != table.end();) {
      entry->second.deadline += excused;
      if (now < entry->second.deadline) {
        ++entry;
        continue;
      }
      dismiss(name_of_entry(entry->second),
              {ErrorKind::timeout, 0, format_text("stalled for %g s", in_seconds(kPatience))});
      entry = table.erase(entry);
    }
  };
  drop(guests_, [](const Guest& guest) { return guest.from; });
  drop(embryos_, [](const Growing& growing) { return growing.embryo->peer(); });
}

void TcpListener::dismiss(const std::string& who, const Error& error) {
  if (!bad_guests_.allow()) return;
  SLUICE_WARN(host_.context.logger(), net, "%s was turned away while connecting to %s: it %s",
              who.c_str(), text_.c_str(), error.message.c_str());
}

}  // namespace sluice::transport
