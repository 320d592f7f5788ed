// SPDX-License-Identifier: Apache-2.0
// Launcher: the ranks as forked processes of this one, which stays to watch over them.
//
// A rank that dies is reported; the others then have `grace` to end by themselves, as they should,
// and what is left is killed by its process id. No rank outlives the launcher, however that ends.
// Thread rule: called by a process that has no other threads yet.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/result.h"
#include "perf/driver/bootstrap.h"

namespace sluice::perf {

// Runs in the child; its result is the child's exit code.
using RankBody = std::function<int(Bootstrap::Place place)>;

// The gravest exit code of all ranks; kExitFailed when one was killed. `on_tick` (may be empty) is
// called every few milliseconds meanwhile.
Result<int> launch_ranks(int ranks, Duration grace, const RankBody& body,
                         const std::function<void()>& on_tick);

// Makes the kernel send `signal` to this process when its parent ends; ends at once if it has
// already.
void die_with_parent(int signal, int parent);

}  // namespace sluice::perf
