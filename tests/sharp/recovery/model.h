// SPDX-License-Identifier: Apache-2.0
// A small world for the explorer: ranks with real ledgers and retentions, their users, and a tree
// that delivers in any order and dies.
//
// One class, chunks of two bytes, every chunk's value known. A State can be copied; apply() makes
// one step of it, and tells what is wrong as soon as something is: a wrong result, a slot that is
// overwritten too early, ranks that disagree about a chunk, data that nobody has any more. A user
// overwrites an operation's buffers as soon as it is over. When the tree dies, every result that is
// on its way has been written by half: that is the worst case of all that may be.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharp/client/recovery/ledger.h"
#include "sharp/client/recovery/retention.h"

namespace sluice::sharp::testing {

struct ModelChunk {
  Collective collective = Collective::allreduce;
  uint16_t focus = 0;
};
struct ModelOperation {
  std::vector<ModelChunk> chunks;
  bool in_place = false;
};

// Rules of the ranks that a test may break, to see that the explorer notices.
struct Rules {
  bool keeps_inputs = true;            // of chunks in place
  bool keeps_scatter_inputs = true;    // of finished scatters for others
  bool keeps_results = true;           // of finished operations
  uint32_t fewer_results = 0;          // kept than W
  bool waits_for_answer = true;        // before c+W is sent, even if c is held from an epoch before
  bool takes_result_as_input = false;  // sends from the caller's buffer again, in place or not
  bool forgets_provider = false;       // rank 0 has everything reduced again
  bool starts_late = false;            // rank 0 goes on at the highest base
};

struct Scenario {
  int ranks = 2;
  uint32_t window = 1;
  std::vector<ModelOperation> operations;
  int deaths = 1;
  Rules rules;
};

struct Action {
  enum class Kind : uint8_t { post, deliver, test, die } kind = Kind::post;
  int rank = 0;
  uint64_t number = 0;  // of the chunk or the operation
};

class State {
 public:
  explicit State(const Scenario& scenario);

  std::vector<Action> actions() const;
  // Empty, or what is wrong.
  std::string apply(const Action& action);
  // Every operation is over at every rank.
  bool finished() const;
  // All that decides what may happen next.
  std::string key() const;

 private:
  using Value = std::array<std::byte, 2>;
  struct Location {
    size_t operation = 0;
    size_t chunk = 0;
  };
  // Memory of an operation's user.
  struct Buffers {
    std::vector<Value> input;
    std::vector<Value> output;
    bool over = false;
  };
  struct Rank {
    Ledger ledger;
    Retention retention;
    std::vector<Buffers> operations;
    size_t called = 0;    // operations
    uint64_t chunks = 0;  // of those
  };
  struct Sent {
    ChunkDuty duty;
    Value payload{};
  };
  // A chunk in the tree of this epoch.
  struct InTree {
    std::vector<std::optional<Sent>> sent;  // by rank
    std::optional<Value> result;            // once all have sent
    std::vector<bool> delivered;
  };

  const ModelChunk& chunk_of(uint64_t sequence) const;
  Value& output_of(Rank& rank, uint64_t sequence);
  Value input_value(uint64_t sequence, int rank) const;
  Value reduced_value(uint64_t sequence) const;

  std::string pump(int number);
  std::string send(int number, uint64_t sequence, const ChunkDuty& duty);
  std::string payload(int number, uint64_t sequence, const ChunkDuty& duty, Value* value);
  std::string put_into_tree(int number, uint64_t sequence, const Sent& sent);
  std::string deliver(int number, uint64_t sequence);
  bool can_finish(const Rank& rank, size_t operation) const;
  std::string finish(int number, size_t operation);
  void keep(Rank& rank, int number, uint64_t sequence, const Buffers& buffers, size_t chunk);
  std::string die();

  const Scenario* scenario_;
  std::vector<Location> locations_;  // of each sequence
  std::vector<uint64_t> first_;      // sequence of each operation
  std::vector<Rank> ranks_;
  std::vector<InTree> tree_;  // by sequence; those of this epoch
  int deaths_ = 0;
};

}  // namespace sluice::sharp::testing
