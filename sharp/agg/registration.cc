// SPDX-License-Identifier: Apache-2.0
#include "sharp/agg/registration.h"

#include <algorithm>

namespace sluice::sharp {
namespace {

constexpr Duration kLeastInterval = std::chrono::milliseconds(100);
constexpr Duration kMostInterval = std::chrono::minutes(1);

uint64_t reserved_limit(const NodeLimits& limits) {
  return limits.memory_reserved != 0 ? limits.memory_reserved : 16 * uint64_t{limits.memory};
}

}  // namespace

Registration::Registration(const Logger& logger, const transport::Settings& settings,
                           RegistrationOptions options)
    : logger_(logger),
      self_(std::move(options.self)),
      link_(settings, std::move(options.managers), *this) {}

void Registration::set_listening(const transport::ListenerAddress& address) {
  listening_ = true;
  if (self_.address.empty()) self_.address = transport::text_of(address);
}

void Registration::on_tick(AggregationNode& node) {
  if (!listening_) return;
  node_ = &node;
  link_.progress();
  if (registered_) report();
  log_trouble();
  node_ = nullptr;
}

void Registration::log_trouble() {
  if (link_.trouble().empty() || told_) return;
  told_ = true;
  SLUICE_WARN(logger_, init, "%s; what runs here goes on, and it is tried again until it answers",
              link_.trouble().c_str());
}

void Registration::on_manager_connected() {
  introduce();
}

void Registration::introduce() {
  const NodeReport now = node_->report();
  NodeRegister message = self_;
  message.groups = static_cast<uint32_t>(now.limits.max_groups);
  // Groups reserve more than they ever own at once; what counts for the manager is the reserved.
  message.memory = reserved_limit(now.limits);
  message.draining = now.draining ? 1 : 0;
  link_.send(message);
}

void Registration::on_manager_lost() {
  registered_ = false;
}

Status Registration::on_manager_message(const Envelope& message) {
  if (message.type == MessageType::node_command) {
    const auto command = decode<NodeCommand>(message);
    if (!command) return fail(command.error());
    obey(*command);
    return {};
  }
  const auto answer = decode<NodeRegistered>(message);
  if (!answer) return fail(answer.error());
  return on_registered(*answer);
}

Status Registration::on_registered(const NodeRegistered& answer) {
  if (answer.accepted == 0) {
    return fail(ErrorKind::refused, "refused this node: " + answer.sentence);
  }
  interval_ = std::clamp<Duration>(std::chrono::milliseconds(answer.report_ms), kLeastInterval,
                                   kMostInterval);
  registered_ = true;
  told_ = false;
  next_report_ = {};
  SLUICE_INFO(logger_, init, "registered with manager %s as %s", link_.manager().c_str(),
              answer.sentence.c_str());
  return {};
}

void Registration::obey(const NodeCommand& command) {
  switch (command.order) {
    case NodeOrder::drain:
    case NodeOrder::serve: {
      const bool drain = command.order == NodeOrder::drain;
      if (node_->draining() == drain) return;
      node_->drain(drain);
      SLUICE_INFO(logger_, init, "manager %s: %s", link_.manager().c_str(),
                  drain ? "no new groups from now on" : "new groups are taken again");
      return;
    }
    case NodeOrder::end_group:
      node_->end_group(command.group, command.epoch,
                       "by order of the manager: " + command.sentence);
      return;
  }
}

void Registration::report() {
  const NodeReport now = node_->report();
  GroupKeys keys;
  keys.reserve(now.groups.size());
  for (const GroupReport& group : now.groups) keys.emplace_back(group.id, group.epoch);
  const bool changed = keys != reported_ || now.draining != reported_draining_;
  if (!changed && Clock::now() < next_report_) return;
  NodeGroups message;
  message.draining = now.draining ? 1 : 0;
  for (const GroupReport& group : now.groups) {
    if (message.groups.size() == kMaxReportedGroups) break;
    message.groups.push_back({group.id, group.epoch, group.members, group.reserved_bytes,
                              group.active_bytes, group.job.substr(0, kMaxName)});
  }
  link_.send(message);
  next_report_ = Clock::now() + interval_;
  reported_draining_ = now.draining;
  reported_ = std::move(keys);
}

}  // namespace sluice::sharp
