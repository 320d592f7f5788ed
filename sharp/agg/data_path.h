// SPDX-License-Identifier: Apache-2.0
// The data path of a group on a node: chunks of the children in, one combination when the last
// child's has come, then up to the parent and its result down, or straight down at the root.
//
// Chunk n is combined only when nothing reads result n-W any more: that all children have sent n
// proves that they hold it, the transport's confirmations that our writes are done. So one slot of
// each row serves one sequence number at a time, and no acknowledgement exists. What arrives
// damaged is asked for again and never used. Faults of the peers go to the owner, who ends the
// group; nothing that comes afterwards must be passed on here. Ownership: the memory is the
// group's. Thread rule: one thread. Ports must be detached before they go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sharp/agg/child_port.h"
#include "sharp/agg/data_counters.h"
#include "sharp/agg/delivery.h"
#include "sharp/agg/parent_port.h"
#include "sharp/agg/slot_layout.h"
#include "sharp/agg/slot_ring.h"

namespace sluice::sharp {

// Where a write has put its bytes.
struct WrittenAt {
  transport::WindowId window = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

class DataPathOwner {
 public:
  // Sentences go on after the name of who is at fault.
  virtual void child_failed(uint16_t child, const std::string& sentence) = 0;
  // The children contradict each other.
  virtual void children_disagree(uint16_t child, const std::string& sentence) = 0;
  virtual void parent_failed(const std::string& sentence) = 0;

 protected:
  ~DataPathOwner() = default;
};

class DataPath {
 public:
  // `children`, `memory` (layout.bytes()), `counters` and `faults` outlive it.
  DataPath(DataPathOwner& owner, const GroupShape& shape, const std::vector<ChildInfo>& children,
           const SlotLayout& layout, std::span<std::byte> memory, DataCounters& counters,
           Faults& faults);

  // Announces the child's slots to it.
  Status attach(uint16_t child, ChildPort& port);
  void detach(uint16_t child);
  void attach_parent(ParentPort& parent) { parent_ = &parent; }

  // A streaming chunk lies in its slot already; the payload of a message is copied.
  void on_written_chunk(uint16_t child, const ChunkHeader& header, const WrittenAt& at);
  void on_message_chunk(uint16_t child, const ChunkHeader& header,
                        std::span<const std::byte> payload);
  void on_window(uint16_t child, const transport::RemoteWindow& window, uint64_t operation);
  void on_node_window(uint16_t child, const transport::RemoteWindow& window);
  void on_resend(uint16_t child, const Resend& resend);
  // A write to a child or to the parent is confirmed.
  void on_confirmed(uint64_t token);

  void on_written_result(const ChunkHeader& header, const WrittenAt& at);
  void on_message_result(const ChunkHeader& header, std::span<const std::byte> payload);
  void on_parent_resend(const Resend& resend);

  // Somebody waits for somebody.
  bool has_partial() const;
  // Nothing is on its way either.
  bool quiet() const;
  // The memory's content goes: nothing can be sent again. Only when quiet.
  void forget();
  // Changes with every chunk.
  uint64_t activity() const { return activity_; }

 private:
  SlotRing& ring(TrafficClass traffic_class) { return rings_[static_cast<size_t>(traffic_class)]; }
  ResultSlot& result(TrafficClass traffic_class, uint64_t sequence) {
    auto& results = results_[static_cast<size_t>(traffic_class)];
    return results[ring(traffic_class).slot_of(sequence)];
  }
  std::byte* at(uint64_t offset) const { return memory_.data() + offset; }

  bool check_chunk(uint16_t child, const ChunkHeader& header);
  bool check_form(uint16_t child, const ChunkHeader& header);
  // Ours to use, or asked for again.
  bool is_intact(uint16_t child, const ChunkHeader& header, std::span<const std::byte> payload);
  // A node below has computed it rightly, as far as the group verifies it.
  bool is_right(uint16_t child, const ChunkHeader& header, const std::byte* payload);
  void arrive(uint16_t child, const ChunkHeader& header);
  void finish(TrafficClass traffic_class, uint32_t slot);
  uint64_t children_that_want(const SlotRing::Slot& chunk) const;
  void pass_up(ResultSlot& result);
  void send_up(ResultSlot& result);
  void pass_down(ResultSlot& result);
  ResultSlot* awaited(const ChunkHeader& header);
  bool is_intact_result(ResultSlot& result, const ChunkHeader& header,
                        std::span<const std::byte> payload);
  void take_result(ResultSlot& result, const ChunkHeader& header, const std::byte* payload);

  DataPathOwner& owner_;
  const GroupShape shape_;
  const std::vector<ChildInfo>& children_;
  const SlotLayout layout_;
  const std::span<std::byte> memory_;
  DataCounters& counters_;
  Faults& faults_;
  ParentPort* parent_ = nullptr;  // null: this is the root
  Delivery delivery_;
  std::vector<SlotRing> rings_;                                    // by class
  std::vector<ResultRing> results_;                                // by class
  std::vector<std::unique_ptr<transport::MemoryRegion>> regions_;  // by child, of all the memory
  std::vector<const std::byte*> slots_;                            // scratch of a combination
  uint64_t activity_ = 0;
};

}  // namespace sluice::sharp
