// SPDX-License-Identifier: Apache-2.0
// What the daemons' command lines have in common. For their options' files only: brings CLI11 in.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/parameter_value.h"
#include "base/result.h"

namespace sluice::sharp {

// Nothing: go on. A text: help or version was asked for. An error: a word is wrong. CLI11 reports
// by exceptions; they end here.
inline Result<std::optional<std::string>> parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& version) {
    return std::string(version.what()) + "\n";
  } catch (const CLI::Error& error) {
    return fail(ErrorKind::invalid_usage, error.what());
  }
  return std::nullopt;
}

// The value of an option that is written as settings are. `info`: type, range, choices.
inline Result<int64_t> number_of(const char* option, const std::string& text,
                                 const ParameterInfo& info) {
  const auto value = parse_value(info, text);
  if (value) return value->number;
  return fail(ErrorKind::invalid_usage, format_text("%s %s: %s is expected", option, text.c_str(),
                                                    accepted_values(info).c_str()));
}

}  // namespace sluice::sharp
