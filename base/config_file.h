// SPDX-License-Identifier: Apache-2.0
// Settings files in the grammar of NCCL's nccl.conf: lines NAME=VALUE, comments start with '#'.
//
// As in NCCL the first line that sets a name wins. More forgiving than NCCL: blanks around name and
// value, a carriage return at the end and comments after blanks are tolerated. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

struct Setting {
  std::string name;
  std::string value;
  int line = 0;  // counted from 1
};

struct ConfigFile {
  std::vector<Setting> settings;      // in the file's order
  std::vector<int> unreadable_lines;  // neither blank, comment nor NAME=VALUE

  // The first setting of that name, or nullptr.
  const Setting* find(std::string_view name) const;
};

ConfigFile parse_config_file(std::string_view text);

// A system error when the file cannot be read (ENOENT when there is none); `invalid_usage` for a
// file that is no text or larger than 1 MiB.
Result<ConfigFile> read_config_file(const std::string& file);

}  // namespace sluice
