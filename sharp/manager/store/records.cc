// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/store/records.h"

#include <algorithm>
#include <type_traits>

#include "sharp/wire/archive.h"

namespace sluice::manager {
namespace {

enum class RecordKind : uint8_t { lease = 1, end = 2, drain = 3, generation = 4 };

template <typename Archive, typename List, typename Each>
void list(Archive& archive, List& items, const Each& each) {
  uint16_t count = static_cast<uint16_t>(items.size());
  archive(count);
  if constexpr (!std::is_const_v<List>) items.resize(count);
  for (auto& item : items) each(item);
}

// The archives know unsigned integers and enumerations, not bool.
template <typename Archive, typename Flag>
void flag(Archive& archive, Flag& value) {
  uint8_t number = value ? 1 : 0;
  archive(number);
  if constexpr (!std::is_const_v<Flag>) value = number != 0;
}

template <typename Archive, typename Node>
void node_fields(Archive& archive, Node& node) {
  archive(node.address);
  archive(node.parent);
  list(archive, node.children, [&](auto& child) {
    archive(child.kind);
    archive(child.index);
  });
  archive(node.amounts.groups);
  archive(node.amounts.memory);
  archive(node.amounts.bandwidth);
}

template <typename Archive, typename Stored>
void lease_fields(Archive& archive, Stored& stored) {
  archive(stored.client_epoch);
  auto& lease = stored.lease;
  archive(lease.lease);
  archive(lease.group);
  archive(lease.epoch);
  flag(archive, lease.adopted);
  archive(lease.job);
  archive(lease.tenant);
  archive(lease.priority);
  flag(archive, lease.exclusive);
  list(archive, lease.members, [&](auto& member) { archive(member); });
  list(archive, lease.rails, [&](auto& rail) { archive(rail); });
  archive(lease.chunk_bytes);
  archive(lease.window_bytes_wanted);
  archive(lease.least_window_bytes);
  archive(lease.latency_bytes);
  archive(lease.bandwidth);
  archive(lease.window_bytes);
  list(archive, lease.trees, [&](auto& tree) {
    archive(tree.rail);
    list(archive, tree.nodes, [&](auto& node) { node_fields(archive, node); });
  });
}

}  // namespace

Record record_of(const StoredLease& lease) {
  Record record;
  sharp::Writer writer(record);
  writer(RecordKind::lease);
  lease_fields(writer, lease);
  return record;
}

Record record_of_end(uint64_t lease) {
  Record record;
  sharp::Writer writer(record);
  writer(RecordKind::end);
  writer(lease);
  return record;
}

Record record_of_drain(const std::string& node, bool draining) {
  Record record;
  sharp::Writer writer(record);
  writer(RecordKind::drain);
  writer(node);
  flag(writer, draining);
  return record;
}

Record record_of_generation(uint32_t generation) {
  Record record;
  sharp::Writer writer(record);
  writer(RecordKind::generation);
  writer(generation);
  return record;
}

Status StoredState::apply(std::span<const std::byte> record) {
  sharp::Reader reader(record);
  RecordKind kind{};
  reader(kind);
  StoredLease lease;
  uint64_t ended = 0;
  std::string node;
  bool drains = false;
  uint32_t spent = 0;
  switch (kind) {
    case RecordKind::lease:
      lease_fields(reader, lease);
      break;
    case RecordKind::end:
      reader(ended);
      break;
    case RecordKind::drain:
      reader(node);
      flag(reader, drains);
      break;
    case RecordKind::generation:
      reader(spent);
      break;
    default:
      return fail(ErrorKind::internal,
                  format_text("a record of the unknown kind %u", static_cast<unsigned>(kind)));
  }
  if (!reader.complete()) return fail(ErrorKind::internal, "a record of a wrong length");
  if (kind == RecordKind::lease) spent = LeaseId::of(lease.lease.lease).generation;
  generation = std::max(generation, spent);
  if (kind == RecordKind::lease) leases[lease.lease.lease] = std::move(lease);
  if (kind == RecordKind::end) leases.erase(ended);
  if (kind == RecordKind::drain && drains) draining.insert(node);
  if (kind == RecordKind::drain && !drains) draining.erase(node);
  return {};
}

std::vector<Record> StoredState::records() const {
  std::vector<Record> records;
  records.reserve(leases.size() + draining.size() + 1);
  records.push_back(record_of_generation(generation));
  for (const auto& [number, lease] : leases) records.push_back(record_of(lease));
  for (const std::string& node : draining) records.push_back(record_of_drain(node, true));
  return records;
}

}  // namespace sluice::manager
