// SPDX-License-Identifier: Apache-2.0
#include "base/config.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/config_file.h"
#include "base/known_names.h"
#include "base/parameter_value.h"
#include "base/text.h"

namespace sluice {
namespace {

// One place where settings were found; the environment is a layer without a file.
struct Layer {
  Source source = Source::environment;
  std::string file;
  ConfigFile content;
};

struct Found {
  std::string text;
  std::string where;  // "the environment", "/etc/nccl.conf line 3"
};

struct Resolved {
  ParameterValue value;
  Source source = Source::built_in;
  std::string where;
};

class Loader {
 public:
  Loader(const Logger& logger, const Configuration::Origin& origin)
      : logger_(logger), origin_(origin) {}

  void read_layers();
  void check_names();
  Resolved resolve(const ParameterInfo& info) const;

 private:
  std::string variable(const char* name) const;
  void read_file(Source source, const std::string& file, bool must_exist);
  std::optional<Found> find(const Layer& layer, const char* name) const;
  void check(const std::string& name, const std::string& where);
  void check_sluice_file(const Layer& layer);

  const Logger& logger_;
  const Configuration::Origin& origin_;
  std::vector<Layer> layers_;  // the first that knows a name wins
  std::set<std::string, std::less<>> checked_;
};

std::string Loader::variable(const char* name) const {
  const char* text = origin_.get(name);
  return text == nullptr ? std::string() : text;
}

void Loader::read_file(Source source, const std::string& file, bool must_exist) {
  Result<ConfigFile> content = read_config_file(file);
  if (!content) {
    const bool absent = content.error().system_errno == ENOENT;
    if (must_exist || !absent) {
      SLUICE_WARN(logger_, env, "settings file not used: %s", content.error().message.c_str());
    }
    return;
  }
  for (const int line : content->unreadable_lines) {
    SLUICE_WARN(logger_, env, "%s line %d is ignored: want a name, an equals sign and a value",
                file.c_str(), line);
  }
  layers_.push_back(Layer{source, file, std::move(*content)});
}

void Loader::read_layers() {
  layers_.push_back(Layer{Source::environment, "", {}});
  const std::string nccl_file = variable("NCCL_CONF_FILE");
  if (!nccl_file.empty()) {
    read_file(Source::nccl_file, nccl_file, true);
  } else if (const std::string home = variable("HOME"); !home.empty()) {
    read_file(Source::home_file, home + "/.nccl.conf", false);
  }
  read_file(Source::etc_file, origin_.etc_file, false);
  const std::string sluice_file = resolve(info_of(Parameter::sluice_config)).value.text;
  if (!sluice_file.empty()) read_file(Source::sluice_file, sluice_file, true);
}

std::optional<Found> Loader::find(const Layer& layer, const char* name) const {
  if (layer.source == Source::environment) {
    const char* text = origin_.get(name);
    if (text == nullptr) return std::nullopt;
    return Found{text, "the environment"};
  }
  const Setting* setting = layer.content.find(name);
  if (setting == nullptr) return std::nullopt;
  return Found{setting->value, layer.file + " line " + std::to_string(setting->line)};
}

// A name set to nothing counts as not set, and hides the sources behind: so does NCCL.
Resolved Loader::resolve(const ParameterInfo& info) const {
  Resolved resolved{{}, Source::built_in, "the default"};
  std::vector<Found> rejected;
  for (const Layer& layer : layers_) {
    const std::optional<Found> found = find(layer, info.name);
    if (!found) continue;
    if (found->text.empty()) break;
    if (std::optional<ParameterValue> value = parse_value(info, found->text)) {
      resolved = {std::move(*value), layer.source, found->where};
      break;
    }
    rejected.push_back(*found);
  }
  if (resolved.source == Source::built_in) {
    // Fails for a default that is another parameter's name, which Configuration::load() fills in.
    resolved.value = parse_value(info, info.default_value).value_or(ParameterValue{});
  }
  for (const Found& found : rejected) {
    const bool built_in = resolved.source == Source::built_in;
    SLUICE_WARN(logger_, env,
                "%s is \"%s\" in %s, which is not accepted: want %s; taking %s from %s", info.name,
                printable(found.text).c_str(), found.where.c_str(), accepted_values(info).c_str(),
                built_in ? info.default_value : printable(resolved.value.text).c_str(),
                resolved.where.c_str());
  }
  return resolved;
}

void Loader::check(const std::string& name, const std::string& where) {
  const NameCheck result = check_name(name);
  if (result.verdict == NameVerdict::fine || !checked_.insert(name).second) return;
  const std::string shown = printable(name);
  if (result.verdict == NameVerdict::misspelt) {
    SLUICE_WARN(logger_, env, "unknown setting %s in %s has no effect: did you mean %s?",
                shown.c_str(), where.c_str(), result.nearest.c_str());
  } else {
    SLUICE_WARN(logger_, env,
                "unknown setting %s in %s has no effect: the nearest known name is %s, "
                "'sluice config' lists all",
                shown.c_str(), where.c_str(), result.nearest.c_str());
  }
}

void Loader::check_sluice_file(const Layer& layer) {
  std::set<std::string_view> known;
  for (const ParameterInfo& info : parameter_table()) known.insert(info.name);
  for (const Setting& setting : layer.content.settings) {
    const bool itself = setting.name == "SLUICE_CONFIG";
    if (known.contains(setting.name) && !itself) continue;
    if (check_name(setting.name).verdict != NameVerdict::fine) continue;  // warned about by check()
    SLUICE_WARN(logger_, env, "%s line %d has no effect: %s %s", layer.file.c_str(), setting.line,
                printable(setting.name).c_str(),
                itself ? "is not read from the file that it names"
                       : "is no setting of sluice, and nobody else reads this file");
  }
}

void Loader::check_names() {
  for (const Layer& layer : layers_) {
    if (layer.source == Source::environment) {
      for (const std::string& name : origin_.names()) check(name, "the environment");
    }
    for (const Setting& setting : layer.content.settings) {
      check(setting.name, layer.file + " line " + std::to_string(setting.line));
    }
    if (layer.source == Source::sluice_file) check_sluice_file(layer);
  }
}

// The parameter that a default names ("as that one"), or nullptr.
const ParameterInfo* named_by_default(const ParameterInfo& info) {
  for (const ParameterInfo& other : parameter_table()) {
    if (std::string_view(info.default_value) == other.name) return &other;
  }
  return nullptr;
}

}  // namespace

const char* name_of(Source source) {
  switch (source) {
    case Source::built_in:
      return "default";
    case Source::sluice_file:
      return "SLUICE_CONFIG file";
    case Source::etc_file:
      return "/etc/nccl.conf";
    case Source::home_file:
      return "~/.nccl.conf";
    case Source::nccl_file:
      return "NCCL_CONF_FILE";
    case Source::environment:
      return "environment";
  }
  return "?";
}

Configuration::Origin Configuration::Origin::process() {
  Origin origin;
  origin.get = [](const char* name) -> const char* { return std::getenv(name); };
  origin.names = [] {
    std::vector<std::string> found;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      found.emplace_back(text.substr(0, text.find('=')));
    }
    return found;
  };
  return origin;
}

Configuration Configuration::load(const Logger& logger, const Origin& origin) {
  Loader loader(logger, origin);
  loader.read_layers();
  loader.check_names();
  Configuration configuration;
  configuration.values_.resize(parameter_table().size());
  for (const ParameterInfo& info : parameter_table()) {
    Resolved resolved = loader.resolve(info);
    Value& value = configuration.values_[static_cast<size_t>(info.parameter)];
    value = {std::move(resolved.value.text), resolved.value.number, resolved.source};
    if (value.source == Source::built_in) continue;
    SLUICE_INFO(logger, env, "%s set to \"%s\" by %s", info.name, printable(value.text).c_str(),
                resolved.where.c_str());
  }
  for (const ParameterInfo& info : parameter_table()) {
    const ParameterInfo* other = named_by_default(info);
    Value& value = configuration.values_[static_cast<size_t>(info.parameter)];
    if (other == nullptr || value.source != Source::built_in) continue;
    const Value& named = configuration.values_[static_cast<size_t>(other->parameter)];
    value = {named.text, named.number, Source::built_in};
  }
  return configuration;
}

const std::string& Configuration::text(Parameter parameter) const {
  return values_[static_cast<size_t>(parameter)].text;
}

bool Configuration::flag(Parameter parameter) const {
  return integer(parameter) != 0;
}

int64_t Configuration::integer(Parameter parameter) const {
  return values_[static_cast<size_t>(parameter)].number;
}

size_t Configuration::bytes(Parameter parameter) const {
  return static_cast<size_t>(integer(parameter));
}

Duration Configuration::duration(Parameter parameter) const {
  const int64_t milliseconds = integer(parameter);
  return milliseconds == kNeverMilliseconds ? Duration::max()
                                            : Duration(std::chrono::milliseconds(milliseconds));
}

Source Configuration::source(Parameter parameter) const {
  return values_[static_cast<size_t>(parameter)].source;
}

}  // namespace sluice
