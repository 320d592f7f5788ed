// SPDX-License-Identifier: Apache-2.0
#include "sharp/client/recovery/plan.h"

#include <algorithm>

namespace sluice::sharp {
namespace {

bool holds(const ClassStanding& standing, uint64_t sequence) {
  if (sequence < standing.first) return false;
  const uint64_t bit = sequence - standing.first;
  return bit / 8 < standing.holds.size() && (standing.holds[bit / 8] >> bit % 8 & 1U) != 0;
}

// The number after the last chunk whose bit is set.
uint64_t end_of_held(const ClassStanding& standing) {
  for (size_t index = standing.holds.size(); index > 0; --index) {
    unsigned byte = standing.holds[index - 1];
    if (byte == 0) continue;
    uint64_t end = standing.first + (index - 1) * 8;
    for (; byte != 0; byte >>= 1) ++end;
    return end;
  }
  return 0;
}

Status contradiction(size_t rank, int traffic_class, const char* what) {
  return fail(ErrorKind::remote,
              format_text("rank %zu's account of the %s class %s", rank,
                          name_of(static_cast<TrafficClass>(traffic_class)), what));
}

Status check_one(const ClassStanding& standing, uint32_t window, size_t rank, int traffic_class) {
  const uint64_t oldest = standing.base > window ? standing.base - window : 0;
  if (standing.base > standing.posted || standing.posted - standing.base > window) {
    return contradiction(rank, traffic_class, "counts more chunks than a window holds");
  }
  if (standing.first != oldest || standing.holds.size() > (size_t{2} * window + 7) / 8 ||
      end_of_held(standing) > standing.posted) {
    return contradiction(rank, traffic_class, "lists results outside of its window");
  }
  return {};
}

Result<ClassResume> plan_class(std::span<const Standing> standings, uint32_t window,
                               int traffic_class) {
  const auto of = [&](size_t rank) -> const ClassStanding& {
    return standings[rank].classes[static_cast<size_t>(traffic_class)];
  };
  ClassResume resume;
  uint64_t least_posted = UINT64_MAX;
  uint64_t end = 0;  // of what somebody holds, data or permission
  size_t holder = 0;
  resume.start = UINT64_MAX;
  for (size_t rank = 0; rank < standings.size(); ++rank) {
    SLUICE_RETURN_IF_ERROR(check_one(of(rank), window, rank, traffic_class));
    resume.start = std::min(resume.start, of(rank).base);
    least_posted = std::min(least_posted, of(rank).posted);
    const uint64_t held = std::max(of(rank).base, end_of_held(of(rank)));
    if (held > end) {
      end = held;
      holder = rank;
    }
  }
  if (end > least_posted || end > resume.start + window) {
    return fail(
        contradiction(holder, traffic_class, "has a result that not all had sent for").error());
  }
  for (uint64_t sequence = resume.start; sequence < end; ++sequence) {
    uint16_t provider = kNoMember;
    for (size_t rank = 0; rank < standings.size() && provider == kNoMember; ++rank) {
      if (holds(of(rank), sequence)) provider = static_cast<uint16_t>(rank);
    }
    resume.providers.push_back(provider);
  }
  return resume;
}

}  // namespace

Result<Resume> plan_resume(std::span<const Standing> standings,
                           const std::array<uint32_t, kTrafficClasses>& windows, uint32_t epoch) {
  if (standings.empty()) return fail(ErrorKind::internal, "a recovery of no ranks");
  Resume resume;
  resume.epoch = epoch;
  for (int traffic_class = 0; traffic_class < kTrafficClasses; ++traffic_class) {
    const auto index = static_cast<size_t>(traffic_class);
    auto planned = plan_class(standings, windows[index], traffic_class);
    if (!planned) return fail(std::move(planned).error());
    resume.classes[index] = std::move(*planned);
  }
  return resume;
}

}  // namespace sluice::sharp
