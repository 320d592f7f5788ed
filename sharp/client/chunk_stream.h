// SPDX-License-Identifier: Apache-2.0
// One class of operations at a rank: cuts them into chunks, keeps the window full, puts results in
// their places, and knows what to send again on a new tree.
//
// Chunks go strictly in sequence, over the borders of operations. Chunk n may go when the answer to
// chunk n-W has come: the window is all the flow control there is, and it proves to the node that
// slot n mod W is free. The ledger has the state, this class the memory. Sequences count over all
// epochs. Ownership: operations belong to the client and stay where they are until retire().
// Thread rule: its client's.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sharp/client/operation.h"
#include "sharp/client/recovery/ledger.h"
#include "sharp/client/recovery/retention.h"
#include "sharp/client/tree_link.h"

namespace sluice::sharp {

inline constexpr uint64_t kNoToken = UINT64_MAX;  // of a payload that is no operation's

class ChunkStream {
 public:
  // `keeps`: copies what a recovery may ask for.
  ChunkStream(TrafficClass traffic_class, uint16_t rank, uint32_t window, bool keeps);

  // The operation has chunks.
  void post(Operation& operation);
  // Sends what may go.
  Status pump(TreeLink& link);
  Status on_result(TreeLink& link, const ChunkHeader& header, const TreeLink::Arrival& arrival);
  Status on_resend(TreeLink& link, uint64_t wire_sequence);
  // The operation is done: its buffers are the caller's again.
  void retire(const Operation& operation);

  ClassStanding standing() const { return ledger_.standing(); }
  Status resume(const ClassResume& resume) { return ledger_.resume(resume); }
  bool settled() const { return ledger_.settled(); }

 private:
  struct Entry {
    Operation* operation = nullptr;  // null: it is retired
    uint64_t offset = 0;             // in the window of the operation
    ChunkHeader header;              // what all epochs have in common
    uint32_t resends = 0;            // both ways
  };

  Entry& entry(uint64_t sequence) { return entries_[sequence % entries_.size()]; }
  ChunkDuty start_chunk();
  Status transmit(TreeLink& link, uint64_t sequence, const ChunkDuty& duty);
  TreeLink::Payload payload_of(uint64_t sequence, const ChunkDuty& duty);
  Status announce(TreeLink& link, Operation& operation);
  Status count_resend(uint64_t sequence);
  Status check_place(const ChunkHeader& header, const ChunkDuty& duty, const Entry& entry,
                     const TreeLink::Arrival& arrival) const;
  Status check_sum(const TreeLink& link, uint64_t sequence, const ChunkHeader& header,
                   const std::byte* payload) const;
  Status take(TreeLink& link, uint64_t sequence, Entry& entry);

  const TrafficClass traffic_class_;
  const uint16_t rank_;
  const bool keeps_;
  Ledger ledger_;
  Retention retention_;
  std::vector<Entry> entries_;    // of the last 2W sequences
  std::deque<Operation*> queue_;  // those with chunks that were never sent, oldest first
};

}  // namespace sluice::sharp
