// SPDX-License-Identifier: Apache-2.0
// Writes a JSON document to a file. Thread rule: any.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sluice::perf {

Status write_document(const std::string& file, const nlohmann::ordered_json& document);

}  // namespace sluice::perf
