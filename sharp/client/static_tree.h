// SPDX-License-Identifier: Apache-2.0
// Trees from the configuration: SLUICE_AGG's nodes, with the ranks put below them.
//
// The ranks' places: if the address of every rank has more leading bytes in common with one leaf's
// than with any other's, each goes to that one; else the ranks are cut into equal consecutive
// blocks, one for each leaf. Nodes that get nothing are left out, and so is a root over a single
// leaf. Thread rule: as TreeSource.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "sharp/client/tree_source.h"
#include "sharp/client/tree_spec.h"

namespace sluice::sharp {

// "10.0.0.1:7654" -> "10.0.0.1", "[fe80::1%eth0]:7654" -> "fe80::1%eth0".
std::string host_part(const std::string& address);

// `hosts[i]`: address of rank i without port. Pure. An error: a tree that no group may have, in
// the words of Tree::check().
Result<Tree> place_ranks(const TreeSpec& spec, const std::vector<std::string>& hosts);

class StaticTreeSource final : public TreeSource {
 public:
  // `patience`: how long a node may take to be restarted.
  explicit StaticTreeSource(std::vector<TreeSpec> trees,
                            Duration patience = std::chrono::seconds(2))
      : trees_(std::move(trees)), patience_(patience) {}

  // Offers the rail's tree. With nodes to avoid, the next one that has none of them; if there is
  // none, the rail's again, after a while: a node may have been restarted.
  void request(const TreeRequest& request) override;
  Result<std::optional<TreeOffer>> poll() override;
  std::string revoked() override { return {}; }
  bool worth_asking() override { return retry_.passed(); }

 private:
  Result<TreeOffer> offer(const TreeSpec& spec) const;

  const std::vector<TreeSpec> trees_;
  const Duration patience_;
  TreeRequest request_;
  Deadline answer_;  // not before
  Deadline retry_ = Deadline::after(Duration::zero());
};

}  // namespace sluice::sharp
