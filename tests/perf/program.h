// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end and tells what it said and left behind. For process tests.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sluice::test {

struct Outcome {
  int code = -1;  // exit code, or minus the signal
  std::string output;
  std::string errors;
  double seconds = 0;
  int left_behind = 0;  // processes that outlived it (ended by us)
};

using Environment = std::map<std::string, std::string>;  // on top of the test's own

Outcome run_program(const std::vector<std::string>& words, const Environment& extra = {});

// Several at once, as a launcher would.
std::vector<Outcome> run_programs(const std::vector<std::vector<std::string>>& commands,
                                  const std::vector<Environment>& extra);

}  // namespace sluice::test
