// SPDX-License-Identifier: Apache-2.0
// JobNodes: the daemons that the launcher starts for a job, and the faults that it applies to them.
//
// Sets SLUICE_AGG, or SLUICE_MANAGER, for the ranks to come; unset again by the destructor. Thread
// rule: the launcher's one thread.
#pragma once

#include <memory>
#include <optional>

#include "perf/driver/job.h"

namespace sluice::perf {

class JobNodes {
 public:
  // Starts nothing when the job has no need of nodes of its own, or there is no program to start:
  // the plugin then says what it lacks.
  static Result<std::unique_ptr<JobNodes>> start(const JobOptions& options);
  ~JobNodes();

  JobSite site();
  // Does what is due.
  void apply_faults();

 private:
  explicit JobNodes(const JobOptions& options) : options_(options) {}
  Status start_daemons(const std::string& node_file);
  Status check_faults();
  NodeProcess* find(const std::string& target);
  void bring_back(size_t fault);

  const JobOptions& options_;
  std::optional<FaultBoard> board_;
  std::optional<NodeProcess> manager_;
  std::optional<NodeTree> nodes_;
};

}  // namespace sluice::perf
