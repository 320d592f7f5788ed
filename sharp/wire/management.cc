// SPDX-License-Identifier: Apache-2.0
#include "sharp/wire/management.h"

#include <algorithm>
#include <initializer_list>

namespace sluice::sharp {
namespace {

tl::unexpected<Error> refuse(std::string sentence) {
  return fail(ErrorKind::refused, std::move(sentence));
}

bool any_too_long(std::initializer_list<const std::string*> names) {
  return std::any_of(names.begin(), names.end(),
                     [](const std::string* name) { return name->size() > kMaxName; });
}

bool any_too_long(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.size() > kMaxName; });
}

}  // namespace

Status check(const TreeAsk& ask) {
  if (any_too_long({&ask.job, &ask.tenant, &ask.asker}) || any_too_long(ask.avoid)) {
    return refuse(format_text("a name has more than %zu bytes", kMaxName));
  }
  if (ask.avoid.size() > kMaxAvoided) {
    return refuse(format_text("more than %zu nodes to avoid", kMaxAvoided));
  }
  size_t ranks = 0;
  for (const HostRanks& host : ask.members) {
    if (host.host.empty() || host.host.size() > kMaxName || host.ranks == 0) {
      return refuse("a member has no host, or a host no members");
    }
    ranks += host.ranks;
  }
  if (ranks < 1 || ranks > kMaxMembers) {
    return refuse(
        format_text("a group has 1 to %u members, not %zu", unsigned{kMaxMembers}, ranks));
  }
  GroupShape shape;
  shape.members = static_cast<uint16_t>(ranks);
  shape.chunk_bytes = ask.chunk_bytes;
  shape.window = ask.window;
  shape.latency_window = 1;
  return check(shape);
}

Status check(const NodeRegister& node) {
  if (node.address.empty()) return refuse("a node has no address");
  if (any_too_long({&node.name, &node.address, &node.at, &node.uplink}) ||
      any_too_long(node.serves)) {
    return refuse(format_text("a name has more than %zu bytes", kMaxName));
  }
  if (node.serves.size() > kMaxServed) {
    return refuse(format_text("node %s serves more than %zu hosts and subnets",
                              node.address.c_str(), kMaxServed));
  }
  if (node.fan_in < 1 || node.fan_in > kMaxFanIn) {
    return refuse(format_text("node %s takes 1 to %u children, not %u", node.address.c_str(),
                              unsigned{kMaxFanIn}, unsigned{node.fan_in}));
  }
  return {};
}

Status check(const NodeGroups& report) {
  if (report.groups.size() > kMaxReportedGroups) {
    return refuse(format_text("a node reports more than %zu groups", kMaxReportedGroups));
  }
  for (const ReportedGroup& group : report.groups) {
    if (group.job.size() > kMaxName) {
      return refuse(format_text("a job's name has more than %zu bytes", kMaxName));
    }
  }
  return {};
}

}  // namespace sluice::sharp
