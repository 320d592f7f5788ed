// SPDX-License-Identifier: Apache-2.0
#include "tools/sluice/manager_commands.h"

#include <iostream>

#include <CLI/CLI.hpp>

#include "sharp/manager/control/client.h"
#include "tools/sluice/manager_views.h"

namespace sluice::tool {

CLI::App* ManagerCommands::add(CLI::App& app, const char* name, const char* what) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("--manager", address_, "control address of sluice-manager")
      ->capture_default_str();
  command->add_option("--timeout", patience_, "seconds that the manager has to answer")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--json", json_, "everything, for programs");
  return command;
}

void ManagerCommands::declare(CLI::App& app) {
  status_ = add(app, "status", "the manager and its nodes");
  jobs_ = add(app, "jobs", "which groups of which jobs hold what");
  trees_ = add(app, "trees", "which nodes reduce for whom");
  reservations_ = add(app, "reservations", "what tenants are sure of, may have, and have");
  drain_ = add(app, "drain", "take a node out of service: its groups are asked to move");
  drain_->add_option("node", node_, "its address or name")->required();
  drain_->add_flag("--undo", undo_, "into service again");
}

bool ManagerCommands::chosen() const {
  return status_->parsed() || jobs_->parsed() || trees_->parsed() || reservations_->parsed() ||
         drain_->parsed();
}

template <typename Answer>
int ManagerCommands::show(const Answer& answer) const {
  if (!answer) {
    std::cerr << "sluice: " << answer.error().message << '\n';
    return 1;
  }
  print(std::cout, *answer, json_);
  std::cout.flush();
  if (std::cout.good()) return 0;
  std::cerr << "sluice: cannot write to standard output\n";
  return 1;
}

int ManagerCommands::run() const {
  const auto patience =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(patience_));
  const auto client = manager::ControlClient::open(address_, patience);
  if (status_->parsed()) return show(client->status());
  if (jobs_->parsed()) return show(client->jobs());
  if (trees_->parsed()) return show(client->trees());
  if (reservations_->parsed()) return show(client->reservations());
  return show(client->drain(node_, undo_));
}

}  // namespace sluice::tool
