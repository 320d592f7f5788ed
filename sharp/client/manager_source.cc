// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/manager_source.h"

#include <algorithm>
#include <utility>

#include "sharp/client/agreement.h"
#include "sharp/wire/limits.h"

namespace sluice::sharp {
namespace {

constexpr Duration kLeastLease = std::chrono::milliseconds(100);
constexpr Duration kMostLease = std::chrono::hours(1);
constexpr auto kAskAgain = std::chrono::seconds(2);  // when nobody said when

std::vector<HostRanks> runs_of(const std::vector<std::string>& hosts) {
  std::vector<HostRanks> runs;
  for (const std::string& host : hosts) {
    if (!runs.empty() && runs.back().host == host) {
      ++runs.back().ranks;
    } else {
      runs.push_back({host, 1});
    }
  }
  return runs;
}

Result<Tree> tree_of(const TreeGrant& grant, size_t ranks) {
  Tree tree;
  tree.leaf_of_rank.assign(ranks, kNoParent);
  size_t placed = 0;
  for (const GrantedNode& node : grant.nodes) {
    const auto place = static_cast<uint16_t>(tree.nodes.size());
    tree.nodes.push_back({node.address, node.parent});
    for (const RankRange& range : node.ranks) {
      if (size_t{range.first} + range.count > ranks) {
        return fail(ErrorKind::remote, "granted a tree for other ranks");
      }
      for (uint16_t at = 0; at < range.count; ++at) {
        auto& leaf = tree.leaf_of_rank[size_t{range.first} + at];
        if (leaf == kNoParent) ++placed;
        leaf = place;
      }
    }
  }
  if (placed != ranks) return fail(ErrorKind::remote, "granted a tree that lacks ranks");
  const Status checked = tree.check();
  if (!checked) {
    return fail(ErrorKind::remote, "granted what is no tree: " + checked.error().message);
  }
  return tree;
}

}  // namespace

ManagerSource::ManagerSource(const transport::Context& context, const Options& options)
    : link_(context.settings(), options.managers, *this), options_(options) {}

ManagerSource::~ManagerSource() {
  if (lease_ != 0) link_.send(Release{lease_});
}

void ManagerSource::request(const TreeRequest& request) {
  ++ask_.request;
  ask_.lease = lease_;
  ask_.group = request.group;
  ask_.epoch = request.epoch;
  ask_.job = request.job.substr(0, kMaxName);
  ask_.tenant = request.tenant.substr(0, kMaxName);
  ask_.asker = this_process();
  ask_.priority = static_cast<uint8_t>(std::clamp<int>(request.priority, 0, kMaxPriority));
  ask_.exclusive = options_.exclusive ? 1 : 0;
  ask_.rail = static_cast<uint8_t>(std::clamp(request.rail, 0, 255));
  ask_.chunk_bytes = request.chunk_bytes;
  ask_.window = request.window;
  ask_.latency_slot_bytes = kMaxLatencyBytes * kLatencyWindow;
  ask_.members = runs_of(request.hosts);
  ask_.avoid = request.avoid;
  if (ask_.avoid.size() > kMaxAvoided) ask_.avoid.resize(kMaxAvoided);
  asking_ = true;
  answer_.reset();
  answer_due_ = Deadline::after(options_.answer_time);
  revoked_.clear();
  if (link_.connected()) link_.send(ask_);
  link_.progress();
}

Result<std::optional<TreeOffer>> ManagerSource::poll() {
  drive();
  if (asking_ && answer_due_.passed()) {
    asking_ = false;
    ask_again_ = Clock::now() + kAskAgain;
    std::string why = link_.trouble();
    answer_ = fail(ErrorKind::timeout,
                   format_text("manager %s does not answer within %g s%s%s: is sluice-manager "
                               "running there?",
                               link_.managers().c_str(), in_seconds(options_.answer_time),
                               why.empty() ? "" : ": ", why.c_str()));
  }
  if (!answer_) return std::optional<TreeOffer>();
  if (!*answer_) return fail(answer_->error());
  return std::optional(**answer_);
}

std::string ManagerSource::revoked() {
  drive();
  return revoked_;
}

bool ManagerSource::worth_asking() {
  drive();
  return link_.connected() && !asking_ && Clock::now() >= ask_again_;
}

void ManagerSource::drive() {
  link_.progress();
  if (lease_ != 0 && link_.connected() && Clock::now() >= next_renewal_) renew();
}

void ManagerSource::renew() {
  link_.send(Renew{lease_, ask_.group, epoch_});
  next_renewal_ = Clock::now() + lease_time_ / 3;
}

// A manager that was away may not know what is held, and what was asked.
void ManagerSource::on_manager_connected() {
  if (lease_ != 0) renew();
  if (asking_) link_.send(ask_);
}

Status ManagerSource::on_manager_message(const Envelope& message) {
  const auto pass = [&](auto decoded, auto&& take) -> Status {
    if (!decoded) return fail(decoded.error());
    return take(*decoded);
  };
  switch (message.type) {
    case MessageType::tree_grant:
      return pass(decode<TreeGrant>(message), [&](const auto& it) { return on_grant(it); });
    case MessageType::tree_denied:
      return pass(decode<TreeDenied>(message), [&](const auto& it) { return on_denial(it); });
    case MessageType::renewed:
      return pass(decode<Renewed>(message), [&](const auto& it) { return on_renewed(it); });
    case MessageType::revoke:
      return pass(decode<Revoke>(message), [&](const Revoke& it) -> Status {
        if (it.lease == lease_) revoked_ = "the manager takes the tree back: " + it.sentence;
        return {};
      });
    default:
      return pass(decode<TreesAvailable>(message), [&](const TreesAvailable& it) -> Status {
        if (it.lease == lease_) ask_again_ = {};
        return {};
      });
  }
}

Status ManagerSource::on_grant(const TreeGrant& grant) {
  if (!asking_ || grant.request != ask_.request) {
    // Of a request that nobody waits for any more: what it holds is given back, unless it is ours.
    if (grant.lease != lease_) link_.send(Release{grant.lease});
    return {};
  }
  size_t ranks = 0;
  for (const HostRanks& host : ask_.members) ranks += host.ranks;
  auto tree = tree_of(grant, ranks);
  if (!tree) return fail(tree.error());
  if (grant.window < 1 || grant.lease == 0) {
    return fail(ErrorKind::remote, "granted a tree without a window or a lease");
  }
  asking_ = false;
  lease_ = grant.lease;
  epoch_ = ask_.epoch;
  lease_time_ =
      std::clamp<Duration>(std::chrono::milliseconds(grant.lease_ms), kLeastLease, kMostLease);
  next_renewal_ = Clock::now() + lease_time_ / 3;
  answer_ = TreeOffer{std::move(*tree), std::min(grant.window, ask_.window), grant.token,
                      "manager " + link_.manager() + ", " + lease_text()};
  return {};
}

std::string ManagerSource::lease_text() const {
  return format_text("lease %llu", static_cast<unsigned long long>(lease_));
}

Status ManagerSource::on_denial(const TreeDenied& denial) {
  if (!asking_ || denial.request != ask_.request) return {};
  asking_ = false;
  lease_ = denial.lease;
  ask_again_ = Clock::now() + std::clamp<Duration>(std::chrono::milliseconds(denial.retry_ms),
                                                   kLeastLease, kMostLease);
  answer_ = fail(ErrorKind::refused,
                 "manager " + link_.manager() + " grants no tree: " + denial.sentence);
  return {};
}

Status ManagerSource::on_renewed(const Renewed& renewed) {
  if (renewed.group != ask_.group || asking_) return {};
  lease_ = renewed.lease;
  return {};
}

}  // namespace sluice::sharp
