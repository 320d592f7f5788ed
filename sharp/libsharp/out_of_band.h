// SPDX-License-Identifier: Apache-2.0
// Out-of-band collectives of the ranks of a communicator: barrier, broadcast, gather, agreement.
//
// libsharp needs them to set itself up, and the ranks need them so that all of them reduce by SHARP
// or none. All go through rank 0, which every other rank is connected to. Every wait ends: by the
// data, by the first no of any rank, by a lost rank, or by the time limit; from then on every call
// fails with that one sentence. The connections stay while the group lives, so that a rank's death
// or trouble is known to all (watch(), report()). Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "sharp/libsharp/peer_link.h"

namespace sluice::sharp::libsharp {

using Links = std::vector<std::unique_ptr<PeerLink>>;

class OutOfBand {
 public:
  struct Circle {
    int rank = 0;
    std::string name;  // of this rank: "rank 3 (gpu07, pid 4711)"
    // Rank 0: links[i] is rank i's, null for itself and for who did not come. Others: links[0], and
    // null for the rest.
    Links links;
    Links outsiders;     // rank 0: whoever only hears the decision
    std::string reason;  // why it cannot be already; empty: it can
  };
  OutOfBand(const Logger& logger, Circle circle);
  ~OutOfBand();  // closes
  OutOfBand(const OutOfBand&) = delete;
  OutOfBand& operator=(const OutOfBand&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  Status barrier();
  Status broadcast(std::span<std::byte> buffer, int root);
  // `all`, as long as all ranks' blocks, is written on the root only.
  Status gather(int root, std::span<const std::byte> own, std::span<std::byte> all);

  // One step of the set-up: succeeds on all ranks, or fails on all with one sentence.
  Status agree(const Status& mine);

  // When the set-up must be over; afterwards each call may take `each`.
  void limit(Deadline setup) { deadline_ = setup; }
  void set_up(Duration each);
  // Says farewell and waits for nobody; from here on calls fail at once.
  void close();

  // While the group works: an error once any rank is lost or in trouble. Waits for nobody.
  Status watch();
  // Tells the others that this rank is in trouble.
  void report(const std::string& sentence);

 private:
  Status wait_for_data(PeerLink& link, uint32_t number);
  Status receive(int from, uint32_t number, std::span<std::byte> into);
  Status gather_at_zero(int root, uint32_t number, std::span<const std::byte> own,
                        std::span<std::byte> all);
  void drive();
  void refuse(const std::string& reason);
  Status await_decision();
  void collect_votes();
  void tell_decision(bool commit);
  void await_farewells();
  Status check();

  const Logger logger_;
  const int rank_;
  const int ranks_;
  const std::string name_;
  Links links_;
  Links outsiders_;
  std::string reason_;  // the first no; a whole sentence
  uint32_t next_ = 0;   // number of the next collective
  Deadline deadline_;
  Duration each_ = Duration::zero();
  bool refused_ = false;  // by a decision: all ranks know
  bool set_up_ = false;
  bool closed_ = false;
};

}  // namespace sluice::sharp::libsharp
