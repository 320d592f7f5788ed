// SPDX-License-Identifier: Apache-2.0
#include "tests/libsharp/stand_in/collective.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sharp/numbers.h"

namespace sluice::stand_in {
namespace {

sharp::DataType type_of(sharp_datatype type) {
  switch (type) {
    case SHARP_DTYPE_UNSIGNED:
      return sharp::DataType::uint32;
    case SHARP_DTYPE_INT:
      return sharp::DataType::int32;
    case SHARP_DTYPE_UNSIGNED_LONG:
      return sharp::DataType::uint64;
    case SHARP_DTYPE_LONG:
      return sharp::DataType::int64;
    case SHARP_DTYPE_FLOAT:
      return sharp::DataType::float32;
    case SHARP_DTYPE_DOUBLE:
      return sharp::DataType::float64;
    case SHARP_DTYPE_FLOAT_SHORT:
      return sharp::DataType::float16;
    case SHARP_DTYPE_BFLOAT16:
      return sharp::DataType::bfloat16;
    case SHARP_DTYPE_UINT8:
      return sharp::DataType::uint8;
    default:
      return sharp::DataType::int8;
  }
}

sharp::ReduceOperator operator_of(sharp_reduce_op reduce_operator) {
  if (reduce_operator == SHARP_OP_MAX) return sharp::ReduceOperator::max;
  return reduce_operator == SHARP_OP_MIN ? sharp::ReduceOperator::min : sharp::ReduceOperator::sum;
}

Bytes reduce(sharp::DataType type, sharp::ReduceOperator reduce_operator,
             const std::vector<const Bytes*>& all) {
  Bytes result(all[0]->size());
  sharp::testing::with_type(type, [&](auto element) {
    using T = decltype(element);
    std::vector<T> column(all.size());
    for (size_t at = 0; at + sizeof(T) <= result.size(); at += sizeof(T)) {
      for (size_t rank = 0; rank < all.size(); ++rank) {
        std::memcpy(&column[rank], all[rank]->data() + at, sizeof(T));
      }
      const T value = sharp::testing::reference(column, reduce_operator);
      std::memcpy(result.data() + at, &value, sizeof(T));
    }
  });
  return result;
}

}  // namespace

Cut cut_of(int rank, size_t block, size_t offset, size_t window) {
  const size_t begin = block * static_cast<size_t>(rank);
  const size_t from = std::max(begin, offset);
  const size_t to = std::min(begin + block, offset + window);
  return to > from ? Cut{from - offset, to - from} : Cut{};
}

size_t bytes_of(sharp_datatype type) {
  return sharp::size_of(type_of(type));
}

int Group::post(std::unique_ptr<Request> request, Bytes contribution, bool fails,
                Request** handle) {
  request->number = next_++;
  if (fails) {
    request->done = true;
    request->status = SHARP_COLL_ERROR;
  } else {
    star_.send(0, request->number, contribution);
    running_.push_back(request.get());
  }
  *handle = request.release();
  return SHARP_COLL_SUCCESS;
}

void Group::progress() {
  // A lost peer is nothing that libsharp's test would tell: its operations hang.
  static_cast<void>(star_.progress());
  std::erase_if(running_, [this](Request* request) { return serve(*request); });
}

// True when the operation is over.
bool Group::serve(Request& request) {
  if (rank_ == 0 && request.delivered) {
    request.done = star_.flushed();
    return request.done;
  }
  if (rank_ == 0) {
    std::vector<const Bytes*> all;
    for (int rank = 0; rank < ranks_; ++rank) {
      const Bytes* bytes = star_.find(rank, request.number);
      if (bytes == nullptr) return false;
      all.push_back(bytes);
    }
    const Bytes whole = combine(request, all);
    for (int rank = 0; rank < ranks_; ++rank) {
      star_.forget(rank, request.number);
      if (rank != 0) star_.send(rank, request.number, whole);
    }
    deliver(request, whole);
    return false;
  }
  const Bytes* whole = star_.find(0, request.number);
  if (whole == nullptr) return false;
  deliver(request, *whole);
  request.done = true;
  star_.forget(0, request.number);
  return true;
}

Bytes Group::combine(const Request& request, const std::vector<const Bytes*>& all) const {
  if (request.kind != Kind::allgather) {
    return reduce(type_of(request.type), operator_of(request.reduce_operator), all);
  }
  Bytes window(request.window);
  for (int rank = 0; rank < ranks_; ++rank) {
    const Cut cut = cut_of(rank, request.block, request.offset, request.window);
    std::copy_n(all[static_cast<size_t>(rank)]->begin(), cut.size,
                window.begin() + static_cast<ptrdiff_t>(cut.first));
  }
  return window;
}

void Group::deliver(Request& request, const Bytes& whole) {
  if (request.result_bytes > 0) {
    std::memcpy(request.result, whole.data() + request.result_offset, request.result_bytes);
  }
  request.delivered = true;
}

}  // namespace sluice::stand_in
