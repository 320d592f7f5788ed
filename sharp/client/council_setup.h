// SPDX-License-Identifier: Apache-2.0
// From what the ranks have agreed on to their council: called once by Client::connect(), if the
// group can fall back.
#pragma once

#include "base/result.h"
#include "sharp/client/agreement.h"
#include "sharp/client/group_client.h"

namespace sluice::sharp {

// Takes the connections and the source of trees out of `agreement`. `own`: where this rank listens,
// so where the others reach a node that it hosts. `context` outlives `group`.
Status start_council(transport::Context& context, const ClientSettings& settings,
                     Agreement& agreement, uint16_t rank, const transport::ListenerAddress& own,
                     GroupClient& group);

}  // namespace sluice::sharp
