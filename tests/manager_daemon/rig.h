// SPDX-License-Identifier: Apache-2.0
// A manager, nodes and the command line as processes, and clients that only ask for trees.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sharp/client/manager_source.h"
#include "tests/sharp/process.h"
#include "transport/endpoint.h"

namespace sluice::manager::testing {

// Asks until it is true; false after half a minute.
bool eventually(const std::function<bool()>& condition);
std::string content_of(const std::string& file);

// Rank 0 of a communicator, as far as the manager sees it.
class Asker {
 public:
  explicit Asker(const std::string& manager, Duration answer_time = std::chrono::seconds(30));

  sharp::TreeRequest request;
  // Asks and waits for the answer.
  Result<sharp::TreeOffer> ask();
  sharp::ManagerSource& source() { return *source_; }
  void close() { source_.reset(); }

 private:
  transport::Context context_;
  std::unique_ptr<sharp::ManagerSource> source_;
};

class Rig : public ::testing::Test {
 protected:
  Rig();
  ~Rig() override;

  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  // Listens on the same ports each time; its log is file("manager.log").
  void start_manager(std::vector<std::string> arguments = {});
  void kill_manager(int signal);
  std::string manager() const { return "127.0.0.1:" + std::to_string(port_); }

  // Returns its address once the manager knows it.
  std::string start_node(const std::string& name, std::vector<std::string> arguments = {});
  void kill_node(const std::string& name);

  // `sluice ... --json` at the manager; null when it fails.
  nlohmann::json tool(std::vector<std::string> arguments);
  nlohmann::json node_row(const std::string& name);
  size_t leases() { return tool({"jobs"}).size(); }
  std::string log() const { return content_of(file("manager.log")); }

  // With a group and a job of its own on two hosts of `ranks` together.
  std::unique_ptr<Asker> asker(const std::string& job, int ranks = 4);

 private:
  std::string folder_;
  uint16_t port_ = 0, control_port_ = 0;
  std::optional<sharp::testing::Process> manager_;
  std::map<std::string, sharp::testing::Process> nodes_;
  uint8_t next_group_ = 1;
};

}  // namespace sluice::manager::testing
