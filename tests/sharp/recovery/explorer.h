// SPDX-License-Identifier: Apache-2.0
// Tries every order in which the steps of a scenario can happen, each state once.
#pragma once

#include <string>

#include "tests/sharp/recovery/model.h"

namespace sluice::sharp::testing {

struct Finding {
  std::string wrong;  // empty: nothing; else what, and the steps that led there
  size_t states = 0;  // that were seen
};

Finding explore(const Scenario& scenario);

}  // namespace sluice::sharp::testing
