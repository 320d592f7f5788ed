// SPDX-License-Identifier: Apache-2.0
// The aggregation nodes of a site as SLUICE_AGG names them: trees, before any rank is put into one.
//
//   list = tree { "," tree }        one for each rail
//   tree = address [ "(" tree { "," tree } ")" ]
//
// "a:1,b:1" are two trees of one node; "r:1(a:1,b:1)" is one of a root and two leaves. Blanks may
// stand anywhere between. Thread rule: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transport/endpoint.h"

namespace sluice::sharp {

struct TreeSpec {
  TreeSpec() = default;
  // A tree of one node; implicit, so that a list of addresses is a list of trees.
  TreeSpec(const transport::SocketAddress& node) : address(node.text()) {}

  std::string address;          // "10.0.0.1:7654"
  std::vector<TreeSpec> below;  // its nodes; none: ranks join here

  std::string text() const;  // as it is parsed
};

Result<std::vector<TreeSpec>> parse_trees(std::string_view text);

// Turns names into addresses; asks the name server: start-up only.
Status look_up(TreeSpec& tree);

}  // namespace sluice::sharp
