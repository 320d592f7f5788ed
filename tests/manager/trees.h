// SPDX-License-Identifier: Apache-2.0
// Looking at trees: as text, and whether they are trees at all.
#pragma once

#include <string>

#include "sharp/manager/core/fabric.h"
#include "sharp/manager/core/tree.h"

namespace sluice::manager::testing {

// "s0(l0(0 1) l1(2 3))": nodes by where they are, ranks by number.
std::string text_of(const Fabric& fabric, const Tree& tree);

// Connected, without cycles, parents before children, children in the order of their lowest rank,
// every rank once and under the leaf that is named, no node twice, none with more children than it
// takes. Empty: all that holds; else what does not.
std::string what_is_wrong(const Fabric& fabric, const Tree& tree, size_t ranks);

}  // namespace sluice::manager::testing
