// SPDX-License-Identifier: Apache-2.0
// A denial as a sentence: what is missing, where, and who has it.
#include <algorithm>
#include <map>

#include "sharp/manager/core/admission.h"

namespace sluice::manager {

namespace {

constexpr size_t kMostNamed = 3;

std::string in_mib(uint64_t bytes) {
  return format_text("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string in_mb_per_second(uint64_t bytes) {
  if (bytes >= kUnlimitedBandwidth / 2) return "unlimited bandwidth";
  return format_text("%.1f MB/s", static_cast<double>(bytes) / 1e6);
}

std::string text_of(const Amounts& amounts) {
  return format_text("%u groups, %s, %s", amounts.groups, in_mib(amounts.memory).c_str(),
                     in_mb_per_second(amounts.bandwidth).c_str());
}

struct JobShare {
  std::string job, tenant;
  Amounts amounts;
};

std::string text_of(const JobShare& share, Reason reason) {
  std::string what = in_mib(share.amounts.memory);
  if (reason == Reason::groups || reason == Reason::exclusive) {
    what = format_text("%u group%s", share.amounts.groups, share.amounts.groups == 1 ? "" : "s");
  } else if (reason == Reason::bandwidth) {
    what = in_mb_per_second(share.amounts.bandwidth);
  }
  return format_text("job %s (tenant %s) %s", share.job.c_str(), share.tenant.c_str(),
                     what.c_str());
}

}  // namespace

const char* name_of(Reason reason) {
  switch (reason) {
    case Reason::granted:
      return "granted";
    case Reason::bad_request:
      return "bad_request";
    case Reason::no_nodes:
      return "no_nodes";
    case Reason::no_path:
      return "no_path";
    case Reason::groups:
      return "groups";
    case Reason::memory:
      return "memory";
    case Reason::bandwidth:
      return "bandwidth";
    case Reason::reserved:
      return "reserved";
    case Reason::exclusive:
      return "exclusive";
    case Reason::tenant_limit:
      return "tenant_limit";
    case Reason::too_many_members:
      return "too_many_members";
    case Reason::duplicate_group:
      return "duplicate_group";
    case Reason::unknown_lease:
      return "unknown_lease";
  }
  return "unknown";
}

// Those that hold most of what is missing, largest first.
std::string Admission::holders_of(const Denial& denial) const {
  std::map<std::pair<std::string, uint32_t>, Amounts> by_job;
  for (const uint32_t number : ledger_.account(denial.node).shares) {
    const Share& share = ledger_.share(number);
    const Lease& lease = leases_.at_slot(share.slot);
    by_job[{lease.request.job, lease.request.tenant.value}] +=
        lease.holdings[share.holding].amounts;
  }
  std::vector<JobShare> shares;
  shares.reserve(by_job.size());
  for (const auto& [job, amounts] : by_job) {
    shares.push_back({job.first, tenants_[job.second].name, amounts});
  }
  std::stable_sort(shares.begin(), shares.end(), [&](const JobShare& a, const JobShare& b) {
    if (denial.reason == Reason::memory) return a.amounts.memory > b.amounts.memory;
    if (denial.reason == Reason::bandwidth) return a.amounts.bandwidth > b.amounts.bandwidth;
    return a.amounts.groups > b.amounts.groups;
  });
  std::string text;
  for (size_t at = 0; at < shares.size() && at < kMostNamed; ++at) {
    text += (at == 0 ? "; held by " : ", ") + text_of(shares[at], denial.reason);
  }
  if (shares.size() > kMostNamed) {
    text += format_text(" and %zu more jobs", shares.size() - kMostNamed);
  }
  return text;
}

std::string Admission::sentence(const Denial& denial) {
  synchronize();
  const std::string tenant =
      denial.tenant.index() < tenants_.size() ? tenants_[denial.tenant.index()].name : "?";
  const std::string node =
      denial.node.valid() ? fabric_.node(denial.node).description.address : "?";
  const std::string near = denial.near.valid() ? fabric_.name_of(denial.near) : "?";
  const std::string start = format_text("no tree on rail %u: ", unsigned{denial.rail});
  const auto lack = [&](const std::string& wanted, const std::string& available) {
    return start + "node " + node + " near " + near + " has " + available + " left and " + wanted +
           " are needed" + holders_of(denial);
  };
  switch (denial.reason) {
    case Reason::granted:
      return "granted";
    case Reason::bad_request:
      return "the request cannot be right: members, rails, priority, window or chunk are out of "
             "range";
    case Reason::no_nodes:
      return start + "no aggregation node is up near " + near +
             " that takes this rail and is not to be avoided; start one, or end a drain";
    case Reason::no_path:
      return start +
             (denial.member.valid() ? "host " + fabric_.host(denial.member).name : "a host") +
             " has no healthy way to the others; look at its links";
    case Reason::groups:
      return lack("1 group", format_text("%u groups", denial.available.groups));
    case Reason::memory:
      return lack(in_mib(denial.wanted.memory), in_mib(denial.available.memory));
    case Reason::bandwidth:
      return lack(in_mb_per_second(denial.wanted.bandwidth),
                  in_mb_per_second(denial.available.bandwidth));
    case Reason::reserved:
      return start + "what node " + node + " near " + near +
             " has left is reserved for other "
             "tenants than " +
             tenant + ", which can have " + text_of(denial.available) + " there and needs " +
             text_of(denial.wanted);
    case Reason::exclusive:
      return start + "node " + node + " near " + near + " is in use, and one side wants it alone" +
             holders_of(denial);
    case Reason::tenant_limit:
      return "tenant " + tenant + " may have " + text_of(denial.available) + " more and needs " +
             text_of(denial.wanted) + "; its other jobs hold the rest";
    case Reason::too_many_members:
      return start + "the nodes near " + near + " cannot take so many members; start more of them";
    case Reason::duplicate_group:
      return "the group is another job's";
    case Reason::unknown_lease:
      return "there is no such lease; it has ended";
  }
  return "denied";
}

}  // namespace sluice::manager
