// SPDX-License-Identifier: Apache-2.0
#include "perf/sluice-perf/json_file.h"

#include <fstream>

#include <nlohmann/json.hpp>

namespace sluice::perf {

Status write_document(const std::string& file, const nlohmann::ordered_json& document) {
  std::ofstream stream(file);
  stream << document.dump(2) << '\n';
  stream.flush();
  if (!stream) return fail(ErrorKind::system, "cannot write " + file);
  return {};
}

}  // namespace sluice::perf
