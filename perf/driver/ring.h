// SPDX-License-Identifier: Apache-2.0
// Ring: what NCCL does through a net plugin, with the host's cores in the place of the
// GPU.
//
// Slices of at most 512 KiB go through two registered FIFOs of 8 slots (NCCL_STEPS); up to 8
// receives and 8 sends are in flight; a received slice is reduced with the own input straight into
// the send slot.
#pragma once

#include <memory>

#include "perf/driver/algorithm.h"
#include "perf/driver/peer_link.h"
#include "perf/driver/ring_schedule.h"

namespace sluice::perf {

class Ring final : public Algorithm {
 public:
  static constexpr size_t kSteps = 8;
  static constexpr size_t kMostSliceBytes = size_t{512} << 10;
  static constexpr size_t kLeastSliceBytes = size_t{16} << 10;

  // `receive_hint`: pre-load requests with 0x1 as NCCL does for LL and LL128 (v9 and later).
  static Result<std::unique_ptr<Algorithm>> connect(Communicator& communicator, bool receive_hint);

  const char* name() const override { return "ring"; }
  Status prepare(std::byte*, std::byte*, size_t) override { return {}; }  // only FIFOs are known
  void release() override {}
  Status supports(Collective, ncclDataType_t, ncclRedOp_t) override { return {}; }
  Status run(const CollectiveCall& call) override;
  uint64_t bytes_handed() const override { return link_.communicator().net().bytes_handed(); }
  Communicator& communicator() override { return link_.communicator(); }

 private:
  struct Fifo {
    Fifo() : memory(kSteps * kMostSliceBytes) {}
    std::byte* slot(size_t index) const { return memory.data() + index % kSteps * kMostSliceBytes; }
    HostMemory memory;
  };
  class Operation;

  Ring(PeerLink link, bool receive_hint) : link_(std::move(link)), receive_hint_(receive_hint) {}
  Status register_fifos();

  Fifo send_fifo_;  // in this order: regions are given back, comms closed, memory freed
  Fifo receive_fifo_;
  PeerLink link_;
  std::unique_ptr<Registration> send_region_;
  std::unique_ptr<Registration> receive_region_;
  bool receive_hint_;
  RingShape planned_for_;
  std::vector<RingStep> steps_;
};

}  // namespace sluice::perf
