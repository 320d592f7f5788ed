// SPDX-License-Identifier: Apache-2.0
// The stand-in's operations: what each rank sends, what rank 0 makes of it, where results go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sharp/libsharp/api.h"
#include "tests/libsharp/stand_in/star.h"

namespace sluice::stand_in {

enum class Kind { allreduce, allgather, reduce_scatter };

// One posted operation; freed by sharp_coll_req_wait().
struct Request {
  Kind kind = Kind::allreduce;
  uint64_t number = 0;
  std::byte* result = nullptr;
  size_t result_bytes = 0;
  size_t result_offset = 0;  // of this rank's part in what rank 0 sends
  sharp_datatype type = SHARP_DTYPE_INT8;
  sharp_reduce_op reduce_operator = SHARP_OP_SUM;
  size_t block = 0;   // bytes of a rank's block,
  size_t offset = 0;  // and the window in all of them
  size_t window = 0;
  bool delivered = false;  // here; on rank 0 the others may still lack it
  bool done = false;
  int status = SHARP_COLL_SUCCESS;
};

class Group {
 public:
  Group(Star& star, int rank, int ranks) : star_(star), rank_(rank), ranks_(ranks) {}

  // `number` and, if the operation shall fail, the status are set here.
  int post(std::unique_ptr<Request> request, Bytes contribution, bool fails, Request** handle);
  // Drives all operations.
  void progress();

 private:
  bool serve(Request& request);
  Bytes combine(const Request& request, const std::vector<const Bytes*>& all) const;
  void deliver(Request& request, const Bytes& whole);

  Star& star_;
  const int rank_;
  const int ranks_;
  uint64_t next_ = 1;
  std::vector<Request*> running_;  // owned by the caller's handle
};

// How much of `rank`'s block the window covers, and where in the window it begins.
struct Cut {
  size_t first = 0;
  size_t size = 0;
};
Cut cut_of(int rank, size_t block, size_t offset, size_t window);

size_t bytes_of(sharp_datatype type);

}  // namespace sluice::stand_in
