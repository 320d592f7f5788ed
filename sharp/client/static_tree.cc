// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/static_tree.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::sharp {
namespace {

// An address as bytes: 4, 16, or none if it is not numeric.
std::vector<uint8_t> bytes_of(const std::string& host) {
  const std::string plain = host.substr(0, host.find('%'));
  std::array<uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET, plain.c_str(), bytes.data()) == 1) {
    return {bytes.begin(), bytes.begin() + 4};
  }
  if (::inet_pton(AF_INET6, plain.c_str(), bytes.data()) == 1) return {bytes.begin(), bytes.end()};
  return {};
}

size_t common_bytes(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  if (a.size() != b.size()) return 0;
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

// The tree with all the nodes of the specification, parents first; `leaves` are those below which
// ranks may join.
struct Skeleton {
  Tree tree;
  std::vector<uint16_t> leaves;

  void add(const TreeSpec& spec, uint16_t parent) {
    const auto self = static_cast<uint16_t>(tree.nodes.size());
    tree.nodes.push_back({spec.address, parent});
    if (spec.below.empty()) leaves.push_back(self);
    for (const TreeSpec& each : spec.below) add(each, self);
  }
};

// The leaf nearest to each rank; empty if that is not clear for all of them.
std::vector<uint16_t> nearest_leaves(const Skeleton& skeleton,
                                     const std::vector<std::string>& hosts) {
  std::vector<std::vector<uint8_t>> leaves;
  for (const uint16_t leaf : skeleton.leaves) {
    leaves.push_back(bytes_of(host_part(skeleton.tree.nodes[leaf].address)));
  }
  std::vector<uint16_t> nearest;
  for (const std::string& host : hosts) {
    const auto own = bytes_of(host);
    size_t best = 0;
    size_t longest = 0;
    bool clear = false;
    for (size_t at = 0; at < leaves.size(); ++at) {
      const size_t common = common_bytes(own, leaves[at]);
      clear = common > longest || (clear && common < longest);
      if (common <= longest) continue;
      longest = common;
      best = at;
    }
    if (!clear) return {};
    nearest.push_back(skeleton.leaves[best]);
  }
  return nearest;
}

// Equal consecutive blocks; the first ones are larger by one if it does not come out even.
std::vector<uint16_t> blocks(const std::vector<uint16_t>& leaves, size_t ranks) {
  std::vector<uint16_t> placed;
  const size_t used = std::min(leaves.size(), ranks);
  for (size_t block = 0; block < used; ++block) {
    const size_t size = ranks / used + (block < ranks % used ? 1 : 0);
    placed.insert(placed.end(), size, leaves[block]);
  }
  return placed;
}

// Without the nodes that have no rank below them, and without a root over a single leaf.
Tree pruned(const Tree& tree) {
  std::vector<bool> used(tree.nodes.size(), false);
  for (uint16_t node : tree.leaf_of_rank) {
    for (; node != kNoParent && !used[node]; node = tree.nodes[node].parent) used[node] = true;
  }
  if (std::count(used.begin(), used.end(), true) == 2) used[0] = false;
  Tree result;
  std::vector<uint16_t> renamed(tree.nodes.size(), kNoParent);
  for (size_t node = 0; node < tree.nodes.size(); ++node) {
    if (!used[node]) continue;
    renamed[node] = static_cast<uint16_t>(result.nodes.size());
    const uint16_t parent = tree.nodes[node].parent;
    result.nodes.push_back(
        {tree.nodes[node].address, parent == kNoParent ? kNoParent : renamed[parent]});
  }
  for (const uint16_t leaf : tree.leaf_of_rank) result.leaf_of_rank.push_back(renamed[leaf]);
  return result;
}

bool has_any(const Tree& tree, const std::vector<std::string>& addresses) {
  return std::any_of(tree.nodes.begin(), tree.nodes.end(), [&](const TreeNode& node) {
    return std::find(addresses.begin(), addresses.end(), node.address) != addresses.end();
  });
}

}  // namespace

std::string host_part(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = colon == std::string::npos ? address : address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host;
}

Result<Tree> place_ranks(const TreeSpec& spec, const std::vector<std::string>& hosts) {
  Skeleton skeleton;
  skeleton.add(spec, kNoParent);
  skeleton.tree.leaf_of_rank = nearest_leaves(skeleton, hosts);
  if (skeleton.tree.leaf_of_rank.empty()) {
    skeleton.tree.leaf_of_rank = blocks(skeleton.leaves, hosts.size());
  }
  Tree tree = pruned(skeleton.tree);
  SLUICE_RETURN_IF_ERROR(tree.check());
  return tree;
}

void StaticTreeSource::request(const TreeRequest& request) {
  request_ = request;
  retry_ = Deadline::after(patience_);
  answer_ = request.avoid.empty() ? Deadline::after(Duration::zero()) : retry_;
}

Result<TreeOffer> StaticTreeSource::offer(const TreeSpec& spec) const {
  auto tree = place_ranks(spec, request_.hosts);
  if (!tree) return fail(std::move(tree).error());
  return TreeOffer{*std::move(tree), request_.window, {}, "SLUICE_AGG"};
}

Result<std::optional<TreeOffer>> StaticTreeSource::poll() {
  if (trees_.empty()) return fail(ErrorKind::refused, "SLUICE_AGG names no aggregation node");
  const auto rail = static_cast<size_t>(std::max(request_.rail, 0));
  for (size_t at = 0; !request_.avoid.empty() && at < trees_.size(); ++at) {
    auto other = offer(trees_[(rail + at) % trees_.size()]);
    if (other && !has_any(other->tree, request_.avoid)) return *std::move(other);
  }
  if (!answer_.passed()) return std::optional<TreeOffer>();
  auto own = offer(trees_[rail % trees_.size()]);
  if (!own) return fail(std::move(own).error());
  return std::optional<TreeOffer>(*std::move(own));
}

}  // namespace sluice::sharp
