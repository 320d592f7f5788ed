// SPDX-License-Identifier: Apache-2.0
// What the manager says, as people and programs want to see it. All write to a stream; one thread.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sharp/manager/control/report.h"

namespace sluice::tool {

void print(std::ostream& out, const manager::StatusReport& report, bool json);
void print(std::ostream& out, const std::vector<manager::JobRow>& rows, bool json);
void print(std::ostream& out, const std::vector<manager::TreeRow>& rows, bool json);
void print(std::ostream& out, const std::vector<manager::ReservationRow>& rows, bool json);
void print(std::ostream& out, const manager::DrainOutcome& outcome, bool json);

}  // namespace sluice::tool
