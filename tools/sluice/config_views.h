// SPDX-License-Identifier: Apache-2.0
// The configuration as people and programs want to see it. All write to a stream; one thread.
#pragma once

#include <ostream>

#include "base/config.h"

namespace sluice::tool {

// Name and value, one line each.
void print_values(std::ostream& out, const Configuration& configuration);
// With source, default, what is accepted and what it is for.
void print_explained(std::ostream& out, const Configuration& configuration);
void print_json(std::ostream& out, const Configuration& configuration);
// docs/configuration.md: the table alone, no values.
void print_markdown(std::ostream& out);

}  // namespace sluice::tool
