// SPDX-License-Identifier: Apache-2.0
#include "sharp/manager/store/store.h"

#include <algorithm>
#include <utility>

namespace sluice::manager {
namespace {

constexpr auto kRetry = std::chrono::seconds(5);
// A journal is written anew when it has grown to so many times what is in it, and to at least this.
constexpr uint64_t kGrowth = 4;
constexpr uint64_t kLeastToCompact = 1 << 20;

}  // namespace

Result<Store> Store::open(const Logger& logger, const std::string& name) {
  Store store(logger);
  if (name.empty()) return store;
  Journal::Content content;
  auto journal = Journal::open(name, content);
  if (!journal) return fail(journal.error());
  if (!content.damage.empty()) {
    SLUICE_WARN(logger, init, "%s; the rest comes from the nodes' reports", content.damage.c_str());
  }
  for (const Record& record : content.records) {
    if (const Status applied = store.state_.apply(record); !applied) {
      SLUICE_WARN(logger, init, "state file %s has %s: it is left out", name.c_str(),
                  applied.error().message.c_str());
    }
  }
  store.journal_.emplace(std::move(*journal));
  SLUICE_RETURN_IF_ERROR(store.compact());
  SLUICE_INFO(logger, init, "state file %s: %zu leases, %zu drained nodes", name.c_str(),
              store.state_.leases.size(), store.state_.draining.size());
  return store;
}

void Store::put(StoredLease lease) {
  append(record_of(lease));
  const uint64_t number = lease.lease.lease;
  state_.generation = std::max(state_.generation, LeaseId::of(number).generation);
  state_.leases[number] = std::move(lease);
}

void Store::end(uint64_t lease) {
  if (state_.leases.erase(lease) != 0) append(record_of_end(lease));
}

void Store::drain(const std::string& node, bool draining) {
  const bool changed =
      draining ? state_.draining.insert(node).second : state_.draining.erase(node) != 0;
  if (changed) append(record_of_drain(node, draining));
}

void Store::append(const Record& record) {
  if (journal_ && !broken_) journal_->append(record);
}

void Store::commit(TimePoint now) {
  if (!journal_ || (broken_ && now < retry_)) return;
  Status status;
  if (broken_ || journal_->size() > compact_above_) {
    status = compact();
  } else if (journal_->dirty()) {
    status = journal_->commit();
  } else {
    return;
  }
  if (status && broken_) SLUICE_WARN(logger_, init, "the state is written again");
  if (!status && !broken_) {
    SLUICE_WARN(logger_, init,
                "the state cannot be kept, so a restart would forget what changes now: %s",
                status.error().message.c_str());
  }
  broken_ = !status;
  retry_ = now + kRetry;
}

Status Store::compact() {
  SLUICE_RETURN_IF_ERROR(journal_->rewrite(state_.records()));
  compact_above_ = std::max(kLeastToCompact, kGrowth * journal_->size());
  return {};
}

}  // namespace sluice::manager
