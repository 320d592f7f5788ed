// SPDX-License-Identifier: Apache-2.0
// Results on their way down to the children of a group.
//
// A payload of the streaming class is written straight where it belongs: into the result window
// that a rank has announced for the operation, or into the slot of the window that a node has
// announced once. Everything else is a message. What has no window yet waits for its announcement.
// Ownership: memory and results are the data path's. Thread rule: one thread; ports must be
// detached before they go.
#pragma once

#include <vector>

#include "sharp/agg/child_port.h"
#include "sharp/agg/faults.h"
#include "sharp/agg/result_ring.h"
#include "sharp/wire/chunk.h"

namespace sluice::sharp {

class Delivery {
 public:
  Delivery(const GroupShape& shape, uint16_t children, Faults& faults)
      : shape_(shape), faults_(faults), targets_(children) {}

  void attach(uint16_t child, ChildPort& port, bool node, const transport::MemoryRegion* region);
  void detach(uint16_t child);

  // Sends a final result to one child. An error is the child's fault.
  Status send(uint16_t child, ResultSlot& result, uint32_t result_window);
  void ask_again(uint16_t child, const Resend& resend);
  // Windows: by a rank with the operation's number, by a node without.
  Status on_window(uint16_t child, const transport::RemoteWindow& window, uint64_t operation);
  Status on_node_window(uint16_t child, const transport::RemoteWindow& window);

 private:
  struct Window {
    transport::RemoteWindow window;
    uint64_t operation = 0;
    bool announced = false;
  };
  struct Waiting {
    ChunkHeader header;
    ResultSlot* result = nullptr;
  };
  struct Target {
    ChildPort* port = nullptr;
    bool node = false;
    const transport::MemoryRegion* region = nullptr;  // of the group's memory
    std::vector<Window> windows;
    std::vector<Waiting> waiting;  // for their window's announcement
  };

  Status write(uint16_t child, const ChunkHeader& header, ResultSlot& result);
  Status retry(uint16_t child);

  GroupShape shape_;
  Faults& faults_;
  std::vector<Target> targets_;
};

}  // namespace sluice::sharp
