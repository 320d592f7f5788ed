// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/daemon/server.h"

#include <algorithm>
#include <utility>

namespace sluice::manager {
namespace {

// Peers' ids start at 1.
constexpr uint64_t kListenerTag = 0;

constexpr auto kTick = std::chrono::milliseconds(100);
// Connections are also looked at without being asked: a peer may have gone in silence.
constexpr auto kSweep = std::chrono::seconds(1);
constexpr size_t kMostSessions = 65536;

}  // namespace

Result<std::unique_ptr<ManagerServer>> ManagerServer::open(transport::Context& context,
                                                           Options options, Fabric fabric) {
  auto store = Store::open(context.logger(), options.manager.state_file);
  if (!store) return fail(store.error());
  transport::Listener::Options listen;
  listen.purpose = transport::Purpose::management;
  listen.bind = options.listen;
  listen.secret = false;
  auto listener = transport::Listener::open(context, listen);
  if (!listener) return fail(std::move(listener).error());
  auto poll = transport::EventPoll::open();
  if (!poll) return fail(std::move(poll).error());
  std::unique_ptr<ManagerServer> server(
      new ManagerServer(context, std::move(*listener), std::move(*poll)));
  options.manager.address = transport::text_of(server->address());
  Outbox& outbox = *server;
  server->manager_ =
      std::make_unique<Manager>(context.logger(), std::move(options.manager), std::move(fabric),
                                std::move(*store), outbox, Clock::now());
  SLUICE_RETURN_IF_ERROR(server->poll_.add(server->listener_->event_fd(), kListenerTag));
  return server;
}

ManagerServer::ManagerServer(transport::Context& context,
                             std::unique_ptr<transport::Listener> listener,
                             transport::EventPoll poll)
    : logger_(context.logger()),
      listener_(std::move(listener)),
      poll_(std::move(poll)),
      gate_([this] { poll_.wake(); }) {}

ManagerServer::~ManagerServer() {
  gate_.close();
}

void ManagerServer::stop() {
  stopping_.store(true, std::memory_order_release);
  poll_.wake();
}

Status ManagerServer::accept_all() {
  for (;;) {
    auto connection = listener_->accept();
    if (!connection) return fail(std::move(connection).error());
    if (*connection == nullptr) return {};
    if (sessions_.size() >= kMostSessions) {
      if (strangers_.allow()) {
        SLUICE_WARN(logger_, net, "turned %s away: there are %zu connections already",
                    (*connection)->peer().c_str(), kMostSessions);
      }
      continue;
    }
    const PeerId peer = next_peer_++;
    SLUICE_RETURN_IF_ERROR(poll_.add((*connection)->event_fd(), peer));
    Session::Owner& owner = *this;
    sessions_.emplace(peer, std::make_unique<Session>(peer, std::move(*connection), owner));
    activate(peer);
  }
}

Status ManagerServer::wait(int timeout_ms) {
  const auto ready = poll_.wait(timeout_ms);
  if (!ready) return fail(ready.error());
  for (const uint64_t tag : *ready) {
    if (tag == kListenerTag) {
      SLUICE_RETURN_IF_ERROR(accept_all());
    } else {
      activate(tag);
    }
  }
  return {};
}

void ManagerServer::activate(PeerId peer) {
  const auto session = sessions_.find(peer);
  if (session == sessions_.end() || session->second->active) return;
  session->second->active = true;
  active_.push_back(peer);
}

Status ManagerServer::run() {
  while (!stopping_.load(std::memory_order_acquire)) {
    const auto timeout = active_.empty() ? static_cast<int>(kTick.count()) : 0;
    SLUICE_RETURN_IF_ERROR(wait(timeout));
    const TimePoint now = Clock::now();
    if (now >= next_sweep_) {
      next_sweep_ = now + kSweep;
      SLUICE_RETURN_IF_ERROR(accept_all());
      for (const auto& [peer, session] : sessions_) activate(peer);
    }
    drive_active();
    gate_.serve(*manager_);
    bury();
    if (now >= next_tick_) {
      next_tick_ = now + kTick;
      manager_->tick(now);
    }
    manager_->commit(now);
    answer();
    rest();
  }
  gate_.close();
  manager_->commit(Clock::now());
  return {};
}

void ManagerServer::drive_active() {
  for (size_t at = 0; at < active_.size(); ++at) {
    const auto session = sessions_.find(active_[at]);
    if (session != sessions_.end()) session->second->drive();
  }
}

void ManagerServer::answer() {
  for (const PeerId peer : std::exchange(posted_, {})) {
    const auto session = sessions_.find(peer);
    if (session == sessions_.end()) continue;
    session->second->push();
    activate(peer);  // what did not go out at once
  }
}

// Those with nothing to do wait for their event fd.
void ManagerServer::rest() {
  std::erase_if(active_, [&](PeerId peer) {
    const auto found = sessions_.find(peer);
    if (found == sessions_.end()) return true;
    Session& session = *found->second;
    session.active = !session.connection().prepare_wait();
    return !session.active;
  });
}

void ManagerServer::bury() {
  std::vector<PeerId> dead;
  for (const PeerId peer : active_) {
    const auto session = sessions_.find(peer);
    if (session != sessions_.end() && session->second->ended()) dead.push_back(peer);
  }
  for (const PeerId peer : dead) {
    const auto session = sessions_.find(peer);
    const std::string complaint = session->second->complaint();
    if (!session->second->spoke() && strangers_.allow()) {
      SLUICE_WARN(logger_, net, "dropped %s: %s", session->second->peer().c_str(),
                  complaint.c_str());
    }
    sessions_.erase(session);
    manager_->on_lost(peer, complaint, Clock::now());
  }
}

void ManagerServer::post(PeerId peer, std::vector<sharp::Message> pieces) {
  const auto session = sessions_.find(peer);
  if (session == sessions_.end()) return;
  session->second->post(std::move(pieces));
  posted_.push_back(peer);
}

void ManagerServer::dismiss(PeerId peer, const std::string& reason) {
  const auto session = sessions_.find(peer);
  if (session != sessions_.end()) session->second->dismiss(reason);
}

Status ManagerServer::on_message(Session& session, const sharp::Envelope& message) {
  return manager_->on_message(session.id(), session.peer(), message, Clock::now());
}

}  // namespace sluice::manager
