// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/tree_source.h"

#include "sharp/client/client.h"
#include "sharp/client/static_tree.h"

namespace sluice::sharp {

std::unique_ptr<TreeSource> make_tree_source(transport::Context&, const ClientSettings& settings) {
  return std::make_unique<StaticTreeSource>(settings.trees);
}

}  // namespace sluice::sharp
