// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/connect.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sharp/libsharp/meeting.h"
#include "transport/setup/host.h"

namespace sluice::sharp::libsharp {
namespace {

constexpr Duration kShortest = std::chrono::milliseconds(100);
constexpr Duration kLongest = std::chrono::hours(1);
// For the decision's way: the others give up after rank 0.
constexpr Duration kMargin = std::chrono::seconds(3);
constexpr int kMostRanks = 65535;  // as the messages count them

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

Result<std::shared_ptr<const Library>> load(const Settings& settings, int ranks) {
  if (settings.disabled) {
    return fail(ErrorKind::refused, "NCCL_SHARP_DISABLE is set for this communicator");
  }
  if (ranks < settings.group_size_threshold) {
    return fail(ErrorKind::refused,
                format_text("%d ranks are fewer than NCCL_SHARP_GROUP_SIZE_THRESH, %d", ranks,
                            settings.group_size_threshold));
  }
  prepare_environment(settings);
  return Library::open(settings.sharp_library);
}

// The job's number is rank 0's.
Result<uint64_t> agree_on_job(OutOfBand& ranks) {
  uint64_t job = transport::random_number();
  SLUICE_RETURN_IF_ERROR(ranks.broadcast(bytes_of(job), 0));
  return job;
}

struct CapabilityRecord {
  uint64_t data_types = 0;
  uint64_t allgather = 0;
  uint64_t reduce_scatter = 0;
};

Result<Capabilities> agree_on_capabilities(OutOfBand& ranks, const Capabilities& own) {
  CapabilityRecord record{own.data_types, own.allgather ? 1U : 0U, own.reduce_scatter ? 1U : 0U};
  std::vector<CapabilityRecord> all(static_cast<size_t>(ranks.ranks()));
  SLUICE_RETURN_IF_ERROR(ranks.gather(0, bytes_of(record), std::as_writable_bytes(std::span(all))));
  if (ranks.rank() == 0) {
    for (const CapabilityRecord& other : all) {
      record.data_types &= other.data_types;
      record.allgather &= other.allgather;
      record.reduce_scatter &= other.reduce_scatter;
    }
  }
  SLUICE_RETURN_IF_ERROR(ranks.broadcast(bytes_of(record), 0));
  return Capabilities{record.data_types, record.allgather != 0, record.reduce_scatter != 0};
}

template <typename T>
Status status_of(const Result<T>& result) {
  return result ? Status() : Status(fail(result.error()));
}

// Whatever fails here goes through an agreement before it is returned.
Result<Capabilities> open(Session& session, const Settings& settings) {
  OutOfBand& ranks = session.out_of_band();
  const auto job = agree_on_job(ranks);
  SLUICE_RETURN_IF_ERROR(ranks.agree(job ? session.open_context(settings, *job) : status_of(job)));
  const auto own = session.capabilities(settings);
  SLUICE_RETURN_IF_ERROR(ranks.agree(status_of(own)));
  auto common = agree_on_capabilities(ranks, *own);
  SLUICE_RETURN_IF_ERROR(ranks.agree(common ? session.open_group() : status_of(common)));
  return common;
}

}  // namespace

Result<std::unique_ptr<LibsharpClient>> connect(transport::Context& context,
                                                const Settings& settings,
                                                std::span<const transport::ListenerAddress> handles,
                                                int rank, Rendezvous& rendezvous) {
  const int ranks = static_cast<int>(std::min<size_t>(handles.size(), kMostRanks + 1));
  if (rank < 0 || rank >= ranks || ranks > kMostRanks) {
    return fail(ErrorKind::invalid_argument,
                format_text("in-network reduction: rank %d of %zu", rank, handles.size()));
  }
  const Duration timeout = std::clamp(settings.connect_timeout, kShortest, kLongest);
  const TimePoint start = Clock::now();
  auto met = meet(context, handles, rank, rendezvous, timeout);
  if (!met) return fail(std::move(met).error());
  OutOfBand& out_of_band = **met;
  const Duration left = rank == 0 ? timeout : timeout * 2 + kMargin - (Clock::now() - start);
  out_of_band.limit(Deadline::after(left));

  auto library = load(settings, ranks);
  SLUICE_RETURN_IF_ERROR(out_of_band.agree(status_of(library)));
  auto session = std::make_shared<Session>(*std::move(library), *std::move(met));
  const auto capabilities = open(*session, settings);
  if (!capabilities) return fail(capabilities.error());
  out_of_band.set_up(timeout);
  return std::make_unique<LibsharpClient>(context.logger(), std::move(session), *capabilities,
                                          settings.trace);
}

}  // namespace sluice::sharp::libsharp
