// SPDX-License-Identifier: Apache-2.0
// sluice: what a site engineer asks an installation. `sluice config` shows the settings that hold
// here, `sluice version` which Sluice this is; `sluice status` and its like ask a manager.
#include <iostream>

#include <CLI/CLI.hpp>

#include "base/config.h"
#include "base/version.h"
#include "tools/sluice/config_views.h"
#include "tools/sluice/manager_commands.h"

namespace {

constexpr int kUsageError = 2;

int print_config(bool explain, bool markdown, bool json) {
  if (markdown) {
    sluice::tool::print_markdown(std::cout);
  } else {
    const sluice::Logger logger = sluice::Logger::to_stderr("sluice", sluice::LogLevel::warn);
    const sluice::Configuration configuration = sluice::Configuration::load(logger);
    if (json) {
      sluice::tool::print_json(std::cout, configuration);
    } else if (explain) {
      sluice::tool::print_explained(std::cout, configuration);
    } else {
      sluice::tool::print_values(std::cout, configuration);
    }
  }
  std::cout.flush();
  if (std::cout.good()) return 0;
  std::cerr << "sluice: cannot write to standard output\n";
  return 1;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory may well end a tool
int main(int argument_count, char** arguments) {
  CLI::App app("Sluice: NCCL plugin with in-network reduction");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("sluice ") + sluice::kVersion);
  app.add_subcommand("version", "print version and git id");
  CLI::App* config =
      app.add_subcommand("config", "print the settings that hold in this environment");
  bool explain = false;
  bool markdown = false;
  bool json = false;
  CLI::Option* explain_option =
      config->add_flag("--explain", explain, "with source, default, accepted values and meaning");
  CLI::Option* markdown_option =
      config->add_flag("--markdown", markdown, "the table of all parameters as a document");
  CLI::Option* json_option = config->add_flag("--json", json, "everything, for programs");
  explain_option->excludes(markdown_option)->excludes(json_option);
  markdown_option->excludes(json_option);
  sluice::tool::ManagerCommands manager;
  manager.declare(app);
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  if (config->parsed()) return print_config(explain, markdown, json);
  if (manager.chosen()) return manager.run();
  std::cout << "sluice " << sluice::kVersion << " (git " << sluice::kGitId << ")\n";
  return 0;
}
