// SPDX-License-Identifier: Apache-2.0
// One class of a group at one rank: which chunks were sent, whose results are here, and how each
// chunk goes on after the tree was exchanged. Pure state: no memory of users, no network.
//
// Sequences count over all epochs; on the wire they count from the epoch's start (to_wire). Words:
// a chunk is *posted* once it was sent in any epoch, *held* once its result is here (of a scatter
// that is for another rank: its permission), *answered* once that happened in this epoch, and
// *retired* when its operation is over and the caller's buffers are the caller's again.
//
// What the rules rest on (docs/protocol.md, "Recovery"): chunk c+W is sent only after c was
// answered, so whoever holds c+W knows that all ranks hold c. Therefore nothing older than W chunks
// is ever asked for again, and 2W entries are all that there is to know.
// Thread rule: its owner's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sharp/wire/reform.h"

namespace sluice::sharp {

// What the payload of a chunk is read from.
enum class PayloadSource : uint8_t {
  none,        // the header goes alone
  input,       // the operation's input, where the caller put it
  kept_input,  // Retention::input(): a result may have destroyed the caller's
  result,      // the operation's result, where it was received
  kept,        // Retention::find(): the operation is over
};

// How a chunk goes over the wire in this epoch.
struct ChunkDuty {
  Collective collective = Collective::allreduce;
  uint16_t focus = 0;
  PayloadSource source = PayloadSource::input;
  bool wants_result = true;  // else kNoResult: only the record comes
  bool keep_input = false;   // Retention::keep_input() first: the result will overwrite the input

  bool operator==(const ChunkDuty&) const = default;
};

// A chunk that is sent for the first time.
struct NewChunk {
  Collective collective = Collective::allreduce;
  uint16_t focus = 0;     // of gather and scatter
  bool in_place = false;  // where the result lies the input lies, or may
};

class Ledger {
 public:
  Ledger(uint16_t rank, uint32_t window);

  // Sending: strictly in sequence.
  uint64_t next() const { return next_; }
  bool sends_again() const { return next_ < posted_; }  // next() is known from an epoch before
  bool room() const;                      // the slot of next() is free: its last chunk was answered
  ChunkDuty send(const NewChunk& chunk);  // room() and not sends_again()
  ChunkDuty send_again();                 // room() and sends_again()

  // Receiving, in any order.
  bool awaits(uint64_t sequence) const;     // was sent in this epoch, is not answered
  ChunkDuty duty(uint64_t sequence) const;  // of a chunk that is awaited
  bool answer(
      uint64_t sequence);  // of an awaited one; true: held from now on, false: it was before
  bool holds(uint64_t sequence) const;

  // When an operation is over: whether the chunk's data may be asked for yet, so must be kept
  // (Retention::keep), then that its buffers are gone.
  bool worth_keeping(uint64_t sequence) const;
  // What is to be kept of it: its result, or its input. Before retire().
  bool keeps_result(uint64_t sequence) const;
  void retire(uint64_t sequence);

  uint64_t posted() const { return posted_; }
  uint64_t base() const { return base_; }  // all below are held
  uint64_t start() const { return start_; }
  uint32_t window() const { return window_; }
  uint64_t to_wire(uint64_t sequence) const { return sequence - start_; }
  uint64_t from_wire(uint64_t sequence) const { return start_ + sequence; }

  // What was sent in an epoch before has been sent and answered in this one too.
  bool settled() const;

  // The exchange of the tree: what is here, and how it goes on.
  ClassStanding standing() const;
  Status resume(const ClassResume& resume);

  // All that decides what happens next, as bytes: for tests that compare states.
  std::vector<uint8_t> snapshot() const;

 private:
  struct Entry {
    NewChunk chunk;
    bool held = false;
    bool answered = false;
    bool retired = false;
  };

  Entry& entry(uint64_t sequence) { return entries_[sequence % entries_.size()]; }
  const Entry& entry(uint64_t sequence) const { return entries_[sequence % entries_.size()]; }
  bool known(uint64_t sequence) const {
    return sequence < posted_ && sequence + entries_.size() >= posted_;
  }
  bool has_data(uint64_t sequence) const;
  uint16_t provider(uint64_t sequence) const;
  bool receives(const Entry& entry) const;
  PayloadSource input_source(const Entry& entry) const;
  PayloadSource result_source(const Entry& entry) const;

  const uint16_t rank_;
  const uint32_t window_;
  std::vector<Entry> entries_;  // of the last 2W sequences below posted_
  uint64_t posted_ = 0;
  uint64_t base_ = 0;
  uint64_t start_ = 0;  // of this epoch
  uint64_t next_ = 0;
  uint64_t resumed_ = 0;             // posted_ when this epoch began
  std::vector<uint16_t> providers_;  // of start_ + i
};

}  // namespace sluice::sharp
