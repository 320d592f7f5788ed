// SPDX-License-Identifier: Apache-2.0
// Bootstrap: out-of-band collectives among the ranks, a TCP star around rank 0.
//
// It carries handles, times and verdicts, never measured data. A rank that fails says so with
// abort(), and rank 0 passes that on; a rank that dies is noticed by its connection. Either way the
// others' next collective, or failure(), gives a sentence that names the rank. Thread rule: one
// thread. Ownership: holds its sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "perf/driver/stream_socket.h"

namespace sluice::perf {

class Bootstrap {
 public:
  struct Place {
    int rank = 0;
    int size = 1;
    HostPort root;             // where rank 0 listens
    uint64_t secret = 0;       // keeps strangers out
    Descriptor root_listener;  // rank 0, when somebody listened for it already
  };

  // All ranks call it; returns when all are there. `timeout` bounds every later wait too.
  static Result<Bootstrap> join(Place place, Duration timeout);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Every rank gives `own` and gets all contributions in rank order: all.size() is size() times
  // own.size().
  Status allgather(std::span<const std::byte> own, std::span<std::byte> all);
  Status barrier();

  template <typename T>
  Result<std::vector<T>> allgather(const T& own) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<size_t>(size_));
    SLUICE_RETURN_IF_ERROR(
        allgather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all))));
    return all;
  }

  // What went wrong on the first rank (in rank order) whose `own` is an error; fine if none is. All
  // ranks get the same answer.
  Status agree(const Status& own);

  // Tells all ranks, best effort, that this one gives up.
  void abort(const std::string& reason);
  // Without waiting: has some rank given up or died? For use between collectives.
  std::optional<Error> failure();

 private:
  struct Header {
    uint32_t kind;
    uint32_t bytes;
  };

  Bootstrap(int rank, int size, Duration timeout) : rank_(rank), size_(size), timeout_(timeout) {}
  Status gather_root(const Place& place);
  Status meet_root(const Place& place);
  Status send_frame(int peer, uint32_t kind, std::span<const std::byte> bytes, Deadline deadline);
  Status receive_frame(int peer, std::span<std::byte> bytes, Deadline deadline);
  std::optional<Error> failure_of(int peer);
  // Rank 0: waits for a frame of `peer` while it watches all the others.
  Status await(int peer, Deadline deadline);
  Status give_up(Status status);
  std::string abort_text(int peer, const Header& header, Deadline deadline);
  std::string name_of(int peer) const;

  int rank_;
  int size_;
  Duration timeout_;
  bool aborted_ = false;
  std::vector<Descriptor> peers_;  // rank 0: by rank, own is empty; others: one, rank 0
};

}  // namespace sluice::perf
