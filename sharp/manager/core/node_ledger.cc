// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/core/node_ledger.h"

#include <algorithm>

namespace sluice::manager {

namespace {

float inverse(uint64_t capacity) {
  return capacity == 0 ? 0 : static_cast<float>(NodeRoom::kFull) / static_cast<float>(capacity);
}

float share(uint64_t used, float per_unit) {
  return static_cast<float>(static_cast<int64_t>(used)) * per_unit;
}

uint32_t load_of(const NodeAccount& account) {
  if (account.exclusive) return NodeRoom::kFull;
  if (account.used.groups == 0) return 0;
  const float load = std::max({share(account.used.groups, account.load_per_group),
                               share(account.used.memory, account.load_per_byte),
                               share(account.used.bandwidth, account.load_per_byte_second)});
  return std::clamp(static_cast<uint32_t>(std::min<float>(load, NodeRoom::kFull)), 1u,
                    NodeRoom::kFull);
}

}  // namespace

void NodeLedger::synchronize(const Fabric& fabric) {
  sites_.clear();
  sites_.resize(fabric.switches().size() + 1);
  tops_.assign(sites_.size(), NodeRoom{});
  accounts_.resize(fabric.nodes().size());
  for (uint32_t number = 0; number < accounts_.size(); ++number) {
    const Node& node = fabric.nodes()[number];
    NodeAccount& account = accounts_[number];
    account.open = node.state == NodeState::up;
    account.rail = node.description.rail;
    account.roles = node.description.roles;
    account.fan_in = node.description.fan_in;
    account.capacity = node.description.capacity;
    account.load_per_group = inverse(account.capacity.groups);
    account.load_per_byte = inverse(account.capacity.memory);
    account.load_per_byte_second = inverse(account.capacity.bandwidth);
    account.used_by_reservation.resize(reservations_.size());
    update_withheld(account);
    account.site = static_cast<uint32_t>(node.at.valid() ? node.at.index() : sites_.size() - 1);
    account.place = static_cast<uint32_t>(sites_[account.site].nodes.size());
    sites_[account.site].nodes.push_back(NodeId{number});
  }
  for (Site& site : sites_) site.index.resize(site.nodes.size());
  for (const NodeAccount& account : accounts_) update_index(account);
}

Amounts NodeLedger::available(NodeId node, const Claimant& claimant) const {
  const NodeAccount& account = accounts_[node.index()];
  if (!account.open) return {};
  Amounts staying = account.used;
  if (claimant.preempt) {
    for (size_t priority = 0; priority < claimant.priority; ++priority) {
      staying -= account.preemptible[priority];
    }
  }
  if (staying.groups != 0 && (claimant.exclusive || account.exclusive)) return {};
  Amounts withheld = account.withheld;
  if (claimant.reservation != kNoReservation) {
    withheld -= less(reservations_[claimant.reservation],
                     account.used_by_reservation[claimant.reservation]);
  }
  return less(account.capacity, staying + withheld);
}

uint32_t NodeLedger::hold(NodeId node, const Amounts& amounts, const Claimant& claimant,
                          uint32_t slot, uint32_t holding) {
  NodeAccount& account = accounts_[node.index()];
  account.used += amounts;
  account.exclusive = account.exclusive || claimant.exclusive;
  if (claimant.reservation == kNoReservation) {
    account.preemptible[claimant.priority] += amounts;
  } else {
    account.used_by_reservation[claimant.reservation] += amounts;
    update_withheld(account);
  }
  update_index(account);
  if (free_shares_.empty()) {
    free_shares_.push_back(static_cast<uint32_t>(shares_.size()));
    shares_.emplace_back();
  }
  const uint32_t number = free_shares_.back();
  free_shares_.pop_back();
  shares_[number] = {slot, holding, static_cast<uint32_t>(account.shares.size())};
  account.shares.push_back(number);
  return number;
}

void NodeLedger::let_go(NodeId node, uint32_t share, const Amounts& amounts,
                        const Claimant& claimant) {
  NodeAccount& account = accounts_[node.index()];
  account.used -= amounts;
  if (claimant.exclusive) account.exclusive = false;
  if (claimant.reservation == kNoReservation) {
    account.preemptible[claimant.priority] -= amounts;
  } else {
    account.used_by_reservation[claimant.reservation] -= amounts;
    update_withheld(account);
  }
  update_index(account);
  const uint32_t place = shares_[share].place;
  account.shares[place] = account.shares.back();
  shares_[account.shares[place]].place = place;
  account.shares.pop_back();
  free_shares_.push_back(share);
}

void NodeLedger::update_withheld(NodeAccount& account) const {
  account.withheld = {};
  for (size_t number = 0; number < reservations_.size(); ++number) {
    account.withheld += less(reservations_[number], account.used_by_reservation[number]);
  }
}

void NodeLedger::update_index(const NodeAccount& account) {
  NodeRoom room;
  if (account.open) {
    room.load = load_of(account);
    if (!account.exclusive) {
      room.total = less(account.capacity, account.used);
      room.unreserved = less(account.capacity, account.used + account.withheld);
    }
  }
  sites_[account.site].index.set(account.place, room);
  tops_[account.site] = sites_[account.site].index.top();
}

}  // namespace sluice::manager
