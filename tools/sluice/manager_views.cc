// SPDX-License-Identifier: Apache-2.0
#include "tools/sluice/manager_views.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace sluice::tool {
namespace {

using nlohmann::ordered_json;

// Columns as wide as what is in them; the last one is not filled up.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { add(std::move(head)); }
  void add(std::vector<std::string> row) {
    widths_.resize(std::max(widths_.size(), row.size()));
    for (size_t at = 0; at < row.size(); ++at) {
      if (row[at].empty()) row[at] = "-";
      widths_[at] = std::max(widths_[at], row[at].size());
    }
    rows_.push_back(std::move(row));
  }
  void print(std::ostream& out) const {
    for (const auto& row : rows_) {
      for (size_t at = 0; at < row.size(); ++at) {
        out << row[at];
        if (at + 1 < row.size()) out << std::string(widths_[at] - row[at].size() + 2, ' ');
      }
      out << '\n';
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

std::string bytes(uint64_t number) {
  constexpr std::array<const char*, 5> kUnits = {"", "K", "M", "G", "T"};
  auto value = static_cast<double>(number);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return format_text(value < 10 && unit > 0 ? "%.1f%s" : "%.0f%s", value, kUnits[unit]);
}

// Of a limit: beyond what a fabric has.
std::string limit(uint64_t number) {
  return number >= std::numeric_limits<uint64_t>::max() / 8 ? "no limit" : bytes(number);
}

std::string count_limit(uint32_t number) {
  return number == std::numeric_limits<uint32_t>::max() ? "no limit" : std::to_string(number);
}

std::string of(const std::string& used, const std::string& most) {
  return format_text("%s of %s", used.c_str(), most.c_str());
}

std::string name_of_lease(uint64_t lease) {
  return std::to_string(lease);
}

template <typename Row>
ordered_json json_of(const Row& row) {
  ordered_json object = ordered_json::object();
  const auto put = [&](const char* name, const auto& value) { object[name] = value; };
  Row::fields(row, put);
  return object;
}

template <typename Row>
ordered_json json_of(const std::vector<Row>& rows) {
  ordered_json list = ordered_json::array();
  for (const Row& row : rows) list.push_back(json_of(row));
  return list;
}

void write(std::ostream& out, const ordered_json& json) {
  out << json.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

void print(std::ostream& out, const manager::StatusReport& report, bool json) {
  if (json) {
    ordered_json object = json_of(report);
    object["nodes"] = json_of(report.nodes);
    return write(out, object);
  }
  out << "sluice-manager " << report.version << " at " << report.address << ", up "
      << format_text("%.0f s", report.uptime) << ", state "
      << (report.state_file.empty() ? "not kept" : "in " + report.state_file) << '\n'
      << report.leases << " leases, " << report.leases_without_tree << " of them without a tree; "
      << report.granted << " granted, " << report.denied << " denied, " << report.preempted
      << " preempted, " << report.released << " released, " << report.expired << " expired\n\n";
  Table table({"NODE", "NAME", "AT", "STATE", "GROUPS", "MEMORY", "BANDWIDTH", "RUNS"});
  for (const auto& node : report.nodes) {
    const bool away = !node.connected;
    table.add({node.address, node.name, node.at, node.state + (away ? ", not connected" : ""),
               of(std::to_string(node.groups), count_limit(node.most_groups)),
               of(bytes(node.memory), limit(node.most_memory)),
               of(bytes(node.bandwidth), limit(node.most_bandwidth)),
               std::to_string(node.reported_groups)});
  }
  table.print(out);
}

void print(std::ostream& out, const std::vector<manager::JobRow>& rows, bool json) {
  if (json) return write(out, json_of(rows));
  Table table(
      {"JOB", "TENANT", "PRIORITY", "LEASE", "RANKS", "NODES", "MEMORY", "STATE", "CLIENT"});
  for (const auto& row : rows) {
    table.add({row.job, row.tenant, std::to_string(row.priority), name_of_lease(row.lease),
               std::to_string(row.ranks), std::to_string(row.nodes), bytes(row.memory),
               row.why.empty() ? row.state : row.state + " (" + row.why + ")",
               row.client + (row.connected ? "" : " (not connected)")});
  }
  table.print(out);
}

void print(std::ostream& out, const std::vector<manager::TreeRow>& rows, bool json) {
  if (json) {
    ordered_json list = ordered_json::array();
    for (const auto& row : rows) {
      ordered_json tree = json_of(row);
      tree["nodes"] = json_of(row.nodes);
      list.push_back(tree);
    }
    return write(out, list);
  }
  Table table({"JOB", "LEASE", "RAIL", "WINDOW", "NODE", "PARENT", "RANKS"});
  for (const auto& row : rows) {
    for (const auto& node : row.nodes) {
      table.add({row.job, name_of_lease(row.lease), std::to_string(row.rail),
                 std::to_string(row.window), node.address, node.parent, node.ranks});
    }
  }
  table.print(out);
}

void print(std::ostream& out, const std::vector<manager::ReservationRow>& rows, bool json) {
  if (json) return write(out, json_of(rows));
  Table table({"TENANT", "RESERVED PER NODE", "GROUPS", "MEMORY", "BANDWIDTH"});
  for (const auto& row : rows) {
    const std::string groups = std::to_string(row.reserved_groups);
    table.add(
        {row.tenant,
         format_text("%s groups, %s, %s/s", groups.c_str(), bytes(row.reserved_memory).c_str(),
                     bytes(row.reserved_bandwidth).c_str()),
         of(std::to_string(row.groups), count_limit(row.most_groups)),
         of(bytes(row.memory), limit(row.most_memory)),
         of(bytes(row.bandwidth), limit(row.most_bandwidth))});
  }
  table.print(out);
}

void print(std::ostream& out, const manager::DrainOutcome& outcome, bool json) {
  if (json) return write(out, json_of(outcome));
  out << outcome.node << " is " << outcome.state << "; " << outcome.groups_asked_to_move
      << " groups were asked to move\n";
}

}  // namespace sluice::tool
