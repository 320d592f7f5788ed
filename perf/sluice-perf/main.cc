// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "perf/driver/exit_code.h"
#include "perf/sluice-perf/options.h"
#include "perf/sluice-perf/series.h"

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory may well end a tool
int main(int argc, char** argv) {
  using namespace sluice::perf;
  const auto parsed = parse_options(argc, argv);
  if (const auto* end = std::get_if<EndNow>(&parsed)) {
    std::FILE* const to = end->code == kExitFine ? stdout : stderr;
    std::fprintf(to, end->code == kExitFine ? "%s" : "sluice-perf: %s\n", end->text.c_str());
    return end->code;
  }
  return run_all_jobs(std::get<Options>(parsed));
}
