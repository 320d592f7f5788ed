// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/job_nodes.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace sluice::perf {
namespace {

// Nodes register as soon as they run; nothing tells us when the manager has heard of them.
constexpr auto kRegistration = std::chrono::milliseconds(500);

bool wants_nodes(const JobOptions& options) {
  return options.needs_node && options.node != "none" && std::getenv("SLUICE_AGG") == nullptr &&
         std::getenv("SLUICE_MANAGER") == nullptr;
}

}  // namespace

Result<std::unique_ptr<JobNodes>> JobNodes::start(const JobOptions& options) {
  std::unique_ptr<JobNodes> made(new JobNodes(options));
  if (wants_nodes(options)) {
    const std::string file = options.node.empty() ? program_folder() + "/sluice-agg" : options.node;
    if (::access(file.c_str(), X_OK) == 0) {
      SLUICE_RETURN_IF_ERROR(made->start_daemons(file));
    } else if (!options.node.empty()) {
      return fail_errno(errno, "cannot run the node " + file);
    } else {
      std::fprintf(stderr, "%s: no sluice-agg beside the program and SLUICE_AGG is not set\n",
                   options.program);
    }
  }
  if (!options.faults.empty()) SLUICE_RETURN_IF_ERROR(made->check_faults());
  return made;
}

JobNodes::~JobNodes() {
  if (nodes_) ::unsetenv(manager_ ? "SLUICE_MANAGER" : "SLUICE_AGG");
}

Status JobNodes::start_daemons(const std::string& node_file) {
  NodeProgram program;
  program.file = node_file;
  program.timeout = options_.timeout;
  program.verbose = options_.verbose;
  if (options_.manager) {
    NodeProgram of_manager = program;
    of_manager.file = program_folder() + "/sluice-manager";
    of_manager.arguments = {"--control", "off"};
    auto manager = NodeProcess::start(of_manager, "manager");
    if (!manager) return fail(std::move(manager).error());
    manager_.emplace(std::move(*manager));
    program.arguments = {"--manager", manager_->address(), "--serves", "0.0.0.0/0", "--name"};
    program.takes_name = true;
  }
  auto nodes = NodeTree::start(options_.tree, program);
  if (!nodes) return fail(std::move(nodes).error());
  nodes_.emplace(std::move(*nodes));
  if (manager_) {
    std::this_thread::sleep_for(kRegistration);
    ::setenv("SLUICE_MANAGER", manager_->address().c_str(), 1);
  } else {
    ::setenv("SLUICE_AGG", nodes_->text().c_str(), 1);
  }
  return {};
}

NodeProcess* JobNodes::find(const std::string& target) {
  if (target == "manager") return manager_ ? &*manager_ : nullptr;
  return nodes_ ? nodes_->find(target) : nullptr;
}

Status JobNodes::check_faults() {
  for (const NodeFault& fault : options_.faults) {
    if (find(fault.target) != nullptr) continue;
    const std::string names = (nodes_ ? nodes_->names() : "none") + (manager_ ? ", manager" : "");
    return fail(
        ErrorKind::invalid_argument,
        "--fault " + fault.target + ": this job has started no such daemon; it has: " + names);
  }
  auto board = FaultBoard::make();
  if (!board) return fail(std::move(board).error());
  board_.emplace(std::move(*board));
  return {};
}

JobSite JobNodes::site() {
  JobSite site;
  if (nodes_ && !manager_) {  // a manager builds as it likes
    site.levels = options_.tree.levels();
    site.nodes = nodes_->size();
  }
  if (board_) site.board = &*board_;
  return site;
}

void JobNodes::bring_back(size_t fault) {
  NodeProcess& process = *find(options_.faults[fault].target);
  if (options_.faults[fault].signal == SIGSTOP) {
    process.signal(SIGCONT);
  } else if (const Status status = process.restart(); !status) {
    std::fprintf(stderr, "%s: %s\n", options_.program, status.error().message.c_str());
  }
  board_->note_restart(fault);
}

void JobNodes::apply_faults() {
  if (!board_ || !board_->begun()) return;
  const TimePoint now = Clock::now();
  for (size_t index = 0; index < options_.faults.size(); ++index) {
    const NodeFault& fault = options_.faults[index];
    NodeProcess& process = *find(fault.target);
    const auto struck = board_->strike(index);
    if (!struck && now >= *board_->begun() + fault.after) {
      process.signal(fault.signal);
      board_->note_strike(index);
    } else if (struck && options_.restart_after && !board_->restart(index) &&
               now >= *struck + *options_.restart_after) {
      bring_back(index);
    }
  }
}

}  // namespace sluice::perf
