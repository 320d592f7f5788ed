// SPDX-License-Identifier: Apache-2.0
#include "perf/driver/ring.h"

#include <array>
#include <cstring>

#include "perf/driver/data_type.h"
#include "perf/driver/nccl_log.h"
#include "perf/driver/test_data.h"

namespace sluice::perf {
namespace {

// The plugin must replace it on every path.
void* const kReceiveHint = reinterpret_cast<void*>(0x1);

// Which of the steps receive and which send: message number -> step number.
std::vector<size_t> indices_of(const std::vector<RingStep>& steps, bool RingStep::*direction) {
  std::vector<size_t> indices;
  for (size_t index = 0; index < steps.size(); ++index) {
    if (steps[index].*direction) indices.push_back(index);
  }
  return indices;
}

}  // namespace

// One operation in flight. Messages of a direction are numbered; each has passed a prefix of:
// posted, arrived, consumed (receives) or filled, posted, completed (sends).
class Ring::Operation {
 public:
  Operation(Ring& ring, const CollectiveCall& call)
      : ring_(ring),
        call_(call),
        net_(ring.communicator().net()),
        steps_(ring.steps_),
        element_(info_of(call.type).bytes),
        own_(static_cast<size_t>(ring.communicator().bootstrap().rank()) *
             call.block(ring.communicator().bootstrap().size()) * element_),
        receives_(indices_of(steps_, &RingStep::receives)),
        sends_(indices_of(steps_, &RingStep::sends)) {}

  Status run() {
    Patience& patience = ring_.communicator().patience();
    while (next_ < steps_.size() || completed_ < sends_.size()) {
      moved_ = false;
      SLUICE_RETURN_IF_ERROR(post_receives());
      SLUICE_RETURN_IF_ERROR(test_receives());
      while (next_ < steps_.size() && is_ready(steps_[next_])) perform(steps_[next_++]);
      SLUICE_RETURN_IF_ERROR(post_sends());
      SLUICE_RETURN_IF_ERROR(test_sends());
      if (moved_) {
        patience.progress();
      } else {
        SLUICE_RETURN_IF_ERROR(patience.idle("in a ring"));
      }
    }
    return {};
  }

 private:
  size_t bytes_of(size_t step) const { return steps_[step].count * element_; }

  Status post_receives() {
    while (receive_posted_ < receives_.size() && receive_posted_ - consumed_ < kSteps) {
      void* data = ring_.receive_fifo_.slot(receive_posted_);
      size_t size = bytes_of(receives_[receive_posted_]);
      int tag = 0;
      void* region = ring_.receive_region_->region();
      void* request = ring_.receive_hint_ && net_.version() >= 9 ? kReceiveHint : nullptr;
      const ncclResult_t result =
          net_.irecv(ring_.link_.receive_comm(), 1, &data, &size, &tag, &region, &request);
      if (result != ncclSuccess) return fail(error_of(result, "irecv"));
      if (request == kReceiveHint) {
        return fail(ErrorKind::internal, "irecv left the request pointer unwritten");
      }
      if (request == nullptr) return {};
      receive_requests_[receive_posted_++ % kSteps] = request;
      moved_ = true;
    }
    return {};
  }

  Status test_receives() {
    while (arrived_ < receive_posted_) {
      int done = 0;
      int sizes[64] = {};
      const ncclResult_t result = net_.test(receive_requests_[arrived_ % kSteps], &done, sizes);
      if (result != ncclSuccess) return fail(error_of(result, "test of a receive"));
      if (done == 0) return {};
      const size_t expected = bytes_of(receives_[arrived_]);
      if (static_cast<size_t>(sizes[0]) != expected) {
        return fail(ErrorKind::internal,
                    format_text("received %d bytes instead of %zu", sizes[0], expected));
      }
      ++arrived_;
      moved_ = true;
    }
    return {};
  }

  bool is_ready(const RingStep& step) const {
    if (step.receives && consumed_ == arrived_) return false;
    return !step.sends || filled_ - completed_ < kSteps;
  }

  // Where a step's elements are: an allgather has only the own block of the input, a reduce-scatter
  // only that of the output.
  const std::byte* input_of(const RingStep& step) const {
    const size_t start = call_.collective == Collective::allgather ? own_ : 0;
    return call_.input + (step.first * element_ - start);
  }
  std::byte* output_of(const RingStep& step) const {
    const size_t start = call_.collective == Collective::reduce_scatter ? own_ : 0;
    return call_.output + (step.first * element_ - start);
  }

  void perform(const RingStep& step) {
    const size_t bytes = step.count * element_;
    std::byte* const received = step.receives ? ring_.receive_fifo_.slot(consumed_) : nullptr;
    std::byte* const slot = step.sends ? ring_.send_fifo_.slot(filled_) : nullptr;
    const std::byte* outcome = received;
    if (step.reduces) {
      std::byte* const to = step.sends ? slot : output_of(step);
      reduce(call_.type, call_.op, to, received, input_of(step), step.count);
      outcome = to;
    } else if (!step.receives) {
      outcome = input_of(step);
    }
    if (step.sends && outcome != slot) std::memcpy(slot, outcome, bytes);
    if (step.stores && outcome != output_of(step)) std::memcpy(output_of(step), outcome, bytes);
    if (step.receives) ++consumed_;
    if (step.sends) ++filled_;
    moved_ = true;
  }

  Status post_sends() {
    while (posted_ < filled_) {
      void* request = nullptr;
      const ncclResult_t result =
          net_.isend(ring_.link_.send_comm(), ring_.send_fifo_.slot(posted_),
                     bytes_of(sends_[posted_]), 0, ring_.send_region_->region(), &request);
      if (result != ncclSuccess) return fail(error_of(result, "isend"));
      if (request == nullptr) return {};
      send_requests_[posted_++ % kSteps] = request;
      moved_ = true;
    }
    return {};
  }

  Status test_sends() {
    while (completed_ < posted_) {
      int done = 0;
      const ncclResult_t result = net_.test(send_requests_[completed_ % kSteps], &done, nullptr);
      if (result != ncclSuccess) return fail(error_of(result, "test of a send"));
      if (done == 0) return {};
      ++completed_;
      moved_ = true;
    }
    return {};
  }

  Ring& ring_;
  const CollectiveCall& call_;
  NetApi& net_;
  const std::vector<RingStep>& steps_;
  const size_t element_;
  const size_t own_;  // where this rank's block begins, bytes
  const std::vector<size_t> receives_;
  const std::vector<size_t> sends_;
  size_t next_ = 0;
  size_t receive_posted_ = 0, arrived_ = 0, consumed_ = 0;
  size_t filled_ = 0, posted_ = 0, completed_ = 0;
  std::array<void*, kSteps> receive_requests_{};
  std::array<void*, kSteps> send_requests_{};
  bool moved_ = false;
};

Result<std::unique_ptr<Algorithm>> Ring::connect(Communicator& communicator, bool receive_hint) {
  const Bootstrap& bootstrap = communicator.bootstrap();
  const int size = bootstrap.size();
  const int rank = bootstrap.rank();
  auto link = PeerLink::connect(communicator, (rank + 1) % size, (rank + size - 1) % size);
  if (!link) return fail(std::move(link).error());
  std::unique_ptr<Ring> ring(new Ring(std::move(*link), receive_hint));
  SLUICE_RETURN_IF_ERROR(communicator.bootstrap().agree(ring->register_fifos()));
  return ring;
}

Status Ring::register_fifos() {
  const auto make = [&](void* comm, const HostMemory& memory, std::unique_ptr<Registration>& to) {
    auto made = Registration::make(communicator(), communicator().net(), comm, memory.data(),
                                   memory.size());
    if (!made) return Status(fail(std::move(made).error()));
    to = std::make_unique<Registration>(std::move(*made));
    return Status();
  };
  SLUICE_RETURN_IF_ERROR(make(link_.send_comm(), send_fifo_.memory, send_region_));
  return make(link_.receive_comm(), receive_fifo_.memory, receive_region_);
}

Status Ring::run(const CollectiveCall& call) {
  const Bootstrap& bootstrap = communicator().bootstrap();
  const size_t element = info_of(call.type).bytes;
  RingShape shape;
  shape.collective = call.collective;
  shape.ranks = bootstrap.size();
  shape.rank = bootstrap.rank();
  shape.count = call.count;
  shape.most_slice = kMostSliceBytes / element;
  shape.least_slice = kLeastSliceBytes / element;
  if (shape != planned_for_) {
    steps_ = ring_steps(shape);
    planned_for_ = shape;
  }
  return Operation(*this, call).run();
}

}  // namespace sluice::perf
