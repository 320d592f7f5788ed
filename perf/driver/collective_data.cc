// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/collective_data.h"

#include <algorithm>
#include <cstring>

#include "perf/driver/data_type.h"

namespace sluice::perf {
namespace {

constexpr size_t kLargestElement = 8;

}  // namespace

CollectiveData::CollectiveData(Collective collective, bool in_place, int rank, int ranks,
                               size_t most_bytes)
    : collective_(collective),
      in_place_(in_place),
      rank_(rank),
      ranks_(ranks),
      input_(most_bytes + static_cast<size_t>(ranks) * kLargestElement),
      output_(in_place ? 1 : input_.size()) {}

size_t CollectiveData::count_for(size_t bytes, size_t element_bytes) const {
  const size_t count = std::max<size_t>(bytes / element_bytes, 1);
  if (collective_ == Collective::allreduce) return count;
  const auto ranks = static_cast<size_t>(ranks_);
  return std::max<size_t>(count / ranks, 1) * ranks;
}

CollectiveCall CollectiveData::call_for(ncclDataType_t type, ncclRedOp_t op, size_t count) const {
  CollectiveCall call{collective_, type, op, input(), output(), count};
  const size_t own = own_first(call) * info_of(type).bytes;
  if (in_place_ && collective_ == Collective::allgather) call.input = output() + own;
  if (in_place_ && collective_ == Collective::reduce_scatter) call.output = input() + own;
  return call;
}

void CollectiveData::fill_input(const CollectiveCall& call, uint64_t seed) {
  auto* const to = const_cast<std::byte*>(call.input);
  if (collective_ == Collective::allgather) {
    fill({call.type, call.op, seed}, rank_, own_first(call), call.block(ranks_), to);
  } else {
    fill({call.type, call.op, seed}, rank_, 0, call.count, to);
  }
}

void CollectiveData::spoil_output(const CollectiveCall& call) {
  std::memset(call.output, 0xa5, output_count(call) * info_of(call.type).bytes);
}

size_t CollectiveData::count_wrong_output(const CollectiveCall& call, uint64_t seed,
                                          int roundings) const {
  const Pattern pattern{call.type, call.op, seed};
  if (collective_ != Collective::allgather) {
    const size_t first = collective_ == Collective::reduce_scatter ? own_first(call) : 0;
    return count_wrong(pattern, ranks_, roundings, first, output_count(call), call.output);
  }
  const size_t block = call.block(ranks_);
  size_t wrong = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const size_t first = static_cast<size_t>(rank) * block;
    wrong += count_different(pattern, rank, first, block,
                             call.output + first * info_of(call.type).bytes);
  }
  return wrong;
}

uint64_t CollectiveData::hash_of_output(const CollectiveCall& call) const {
  if (collective_ == Collective::reduce_scatter) return 0;
  return hash_bytes(call.output, output_count(call) * info_of(call.type).bytes);
}

}  // namespace sluice::perf
