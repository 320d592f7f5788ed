// SPDX-License-Identifier: Apache-2.0
#include "sharp/management/link.h"

#include <algorithm>
#include <utility>

namespace sluice::sharp {
namespace {

constexpr auto kShortestPause = std::chrono::milliseconds(100);
constexpr auto kLongestPause = std::chrono::seconds(5);
constexpr auto kTimeToConnect = std::chrono::seconds(5);

transport::Settings link_settings(transport::Settings settings) {
  settings.choice = transport::TransportChoice::tcp;
  settings.streams = 1;
  settings.socket_buffer = 0;
  settings.connect_timeout = kTimeToConnect;
  settings.connect_retries = 0;  // the link has its own pauses
  return settings;
}

}  // namespace

ManagementLink::ManagementLink(const transport::Settings& settings,
                               std::vector<transport::SocketAddress> managers, Handler& handler)
    : context_(Logger(), link_settings(settings)),  // the owner says what is worth it, once
      managers_(std::move(managers)),
      handler_(handler),
      pause_(kShortestPause) {}

ManagementLink::~ManagementLink() = default;

std::string ManagementLink::manager() const {
  return managers_.empty() ? "" : managers_[next_ % managers_.size()].text();
}

std::string ManagementLink::managers() const {
  std::string text;
  for (const auto& manager : managers_) {
    if (!text.empty()) text += ", ";
    text += manager.text();
  }
  return text;
}

void ManagementLink::progress() {
  if (connection_ == nullptr) connect();
  if (connection_ == nullptr) return;
  if (const Status status = connection_->progress(*this); !status) lose(status.error().message);
}

void ManagementLink::connect() {
  if (connector_ == nullptr) {
    if (managers_.empty() || Clock::now() < next_try_) return;
    const auto& manager = managers_[next_ % managers_.size()];
    auto connector = transport::Connector::open(
        context_, transport::address_of(manager, transport::Purpose::management),
        transport::Purpose::management);
    if (!connector) return lose(connector.error().message);
    connector_ = std::move(*connector);
  }
  auto connection = connector_->progress();
  if (!connection) return lose(connection.error().message);
  if (*connection == nullptr) return;
  connector_.reset();
  connection_ = std::move(*connection);
  collector_ = {};
  pause_ = kShortestPause;
  trouble_.clear();
  handler_.on_manager_connected();
}

void ManagementLink::lose(const std::string& reason) {
  const bool was_connected = connection_ != nullptr;
  trouble_ = "manager " + manager() + ": " + reason;
  connector_.reset();
  connection_.reset();
  next_ = (next_ + 1) % std::max<size_t>(managers_.size(), 1);
  next_try_ = Clock::now() + pause_;
  // The pause is for when all of them have been tried.
  if (next_ == 0) pause_ = std::min<Duration>(2 * pause_, kLongestPause);
  if (was_connected) handler_.on_manager_lost();
}

// A broken connection says so when it is driven next.
void ManagementLink::post(const Message& piece) {
  if (connection_ != nullptr) static_cast<void>(connection_->send_message(piece, {}));
}

void ManagementLink::flush() {
  if (connection_ != nullptr) static_cast<void>(connection_->flush());
}

Status ManagementLink::on_message(std::span<const std::byte> message) {
  const auto envelope = collector_.add(message);
  if (!envelope) return fail(envelope.error());
  return *envelope ? handler_.on_manager_message(**envelope) : Status();
}

Status ManagementLink::on_announcement(std::span<const transport::RemoteWindow>,
                                       std::span<const std::byte>) {
  return fail(ErrorKind::remote, "the manager announced a window");
}

Status ManagementLink::on_arrival(transport::WindowId, uint64_t, uint64_t,
                                  std::span<const std::byte>) {
  return fail(ErrorKind::remote, "the manager wrote data");
}

Status ManagementLink::on_written(uint64_t) {
  return {};
}

}  // namespace sluice::sharp
