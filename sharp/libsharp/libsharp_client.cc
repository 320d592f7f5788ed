// SPDX-License-Identifier: Apache-2.0
#include "sharp/libsharp/libsharp_client.h"

#include <cstring>
#include <utility>

#include "sharp/libsharp/call.h"

namespace sluice::sharp::libsharp {
namespace {

constexpr size_t kMostInFlight = 256;  // NCCL has at most 64
// How often a rank that waits looks after the others.
constexpr auto kLookInterval = std::chrono::milliseconds(5);

std::string describe(Session& session) {
  return format_text("on: %d ranks, SHARP by %s", session.out_of_band().ranks(),
                     session.sharp_library().path().c_str());
}

}  // namespace

// Its address is the Operation's: callers never look inside.
struct LibsharpClient::Posted {
  void* request = nullptr;  // libsharp's; null: nothing to do, or nothing in flight
  const char* what = "";
  size_t bytes = 0;  // of the result
  bool in_use = false;

  // Several parts: their copy, and where it goes when the operation is done.
  std::vector<std::byte> copy;
  std::unique_ptr<transport::MemoryRegion> copy_region;
  std::vector<Part> scatter_to;
};

LibsharpClient::LibsharpClient(const Logger& logger, std::shared_ptr<Session> session,
                               const Capabilities& capabilities, bool trace)
    : logger_(logger),
      session_(std::move(session)),
      capabilities_(capabilities),
      trace_(trace),
      description_(describe(*session_)) {}

LibsharpClient::~LibsharpClient() {
  // Regions that outlive the client keep the context, not the group. Copies leave before it.
  session_->close_group();
}

Result<std::unique_ptr<transport::MemoryRegion>> LibsharpClient::register_memory(
    void* data, size_t size, transport::MemoryType type) {
  return Region::create(session_, data, size, type, nullptr);
}

Result<std::unique_ptr<transport::MemoryRegion>> LibsharpClient::register_dma_buffer(
    void* data, size_t size, transport::MemoryType type, const DmaBuffer& buffer) {
  return Region::create(session_, data, size, type, &buffer);
}

// nullptr: too many in flight.
Result<LibsharpClient::Posted*> LibsharpClient::begin(const char* what, size_t bytes) {
  if (error_) return fail(*error_);
  SLUICE_RETURN_IF_ERROR(look_around());
  if (free_.empty()) {
    if (pool_.size() == kMostInFlight) return nullptr;
    pool_.push_back(std::make_unique<Posted>());
    free_.push_back(pool_.back().get());
  }
  Posted* posted = free_.back();
  free_.pop_back();
  *posted = Posted{};
  posted->what = what;
  posted->bytes = bytes;
  posted->in_use = true;
  if (trace_ && session_->out_of_band().rank() == 0) {
    SLUICE_INFO(logger_, collective, "SHARP %s of %zu bytes", what, bytes);
  }
  return posted;
}

void LibsharpClient::give_back(Posted& posted) {
  posted = Posted{};
  free_.push_back(&posted);
}

Result<Operation*> LibsharpClient::post(Posted& posted, int status) {
  if (status != SHARP_COLL_SUCCESS) {
    return fail_for_good(call_error(session_->sharp_library(), posted.what, status));
  }
  return reinterpret_cast<Operation*>(&posted);
}

Status LibsharpClient::stage(Posted& posted, std::span<const Part> parts, size_t bytes) {
  for (const Part& part : parts) {
    if (part.region != nullptr && part.region->type() != transport::MemoryType::host) {
      return fail(ErrorKind::invalid_argument,
                  format_text("SHARP %s of %zu parts in device memory: one part is possible",
                              posted.what, parts.size()));
    }
  }
  posted.copy.resize(bytes);
  auto region = register_memory(posted.copy.data(), bytes, transport::MemoryType::host);
  if (!region) return fail(std::move(region).error());
  posted.copy_region = *std::move(region);
  return {};
}

Result<Operation*> LibsharpClient::allreduce(const AllreduceArguments& arguments) {
  SLUICE_RETURN_IF_ERROR(check(arguments, capabilities_));
  auto posted = begin("allreduce", arguments.count * size_of(arguments.type));
  if (!posted || *posted == nullptr)
    return posted.map([](Posted*) -> Operation* { return nullptr; });
  int status = SHARP_COLL_SUCCESS;
  if (arguments.count > 0) {
    auto spec = spec_of(arguments);
    status = session_->sharp_library().functions().allreduce(session_->group(), &spec,
                                                             &(*posted)->request);
  }
  return post(**posted, status);
}

Result<Operation*> LibsharpClient::allgather(const AllgatherArguments& arguments) {
  const OutOfBand& ranks = session_->out_of_band();
  SLUICE_RETURN_IF_ERROR(check(arguments, capabilities_, ranks.rank(), ranks.ranks()));
  auto begun = begin("allgather", arguments.window_bytes);
  if (!begun || *begun == nullptr) return begun.map([](Posted*) -> Operation* { return nullptr; });
  Posted& posted = **begun;
  if (arguments.window_bytes == 0) return post(posted, SHARP_COLL_SUCCESS);
  Operand gathered{arguments.receive[0].address, arguments.window_bytes,
                   arguments.receive[0].region};
  if (arguments.receive.size() > 1) {
    if (Status staged = stage(posted, arguments.receive, arguments.window_bytes); !staged) {
      give_back(posted);
      return fail(std::move(staged).error());
    }
    posted.scatter_to.assign(arguments.receive.begin(), arguments.receive.end());
    gathered.address = posted.copy.data();
    gathered.region = posted.copy_region.get();
  }
  auto spec = spec_of(arguments, gathered);
  return post(posted, session_->sharp_library().functions().allgather(session_->group(), &spec,
                                                                      &posted.request));
}

Result<Operation*> LibsharpClient::reduce_scatter(const ReduceScatterArguments& arguments) {
  const OutOfBand& ranks = session_->out_of_band();
  SLUICE_RETURN_IF_ERROR(check(arguments, capabilities_, ranks.rank(), ranks.ranks()));
  auto begun =
      begin("reduce-scatter", bytes_in_window(ranks.rank(), arguments.bytes_per_rank,
                                              arguments.window_offset, arguments.window_bytes));
  if (!begun || *begun == nullptr) return begun.map([](Posted*) -> Operation* { return nullptr; });
  Posted& posted = **begun;
  if (arguments.window_bytes == 0) return post(posted, SHARP_COLL_SUCCESS);
  Operand window{arguments.send[0].address, arguments.window_bytes, arguments.send[0].region};
  if (arguments.send.size() > 1) {
    if (Status staged = stage(posted, arguments.send, arguments.window_bytes); !staged) {
      give_back(posted);
      return fail(std::move(staged).error());
    }
    size_t at = 0;
    for (const Part& part : arguments.send) {
      if (part.size > 0) std::memcpy(posted.copy.data() + at, part.address, part.size);
      at += part.size;
    }
    window.address = posted.copy.data();
    window.region = posted.copy_region.get();
  }
  auto spec = spec_of(arguments, window);
  return post(posted, session_->sharp_library().functions().reduce_scatter(session_->group(), &spec,
                                                                           &posted.request));
}

Result<bool> LibsharpClient::test(Operation& operation, size_t* bytes) {
  auto& posted = reinterpret_cast<Posted&>(operation);
  if (error_) return fail(*error_);
  if (!posted.in_use) {
    return fail(ErrorKind::invalid_usage, "test of a SHARP operation that is done already");
  }
  // libsharp makes progress in its test; no other call of it is needed.
  if (posted.request != nullptr &&
      session_->sharp_library().functions().test(posted.request) == 0) {
    SLUICE_RETURN_IF_ERROR(look_around());
    return false;
  }
  return finish(posted, bytes);
}

Result<bool> LibsharpClient::finish(Posted& posted, size_t* bytes) {
  if (posted.request != nullptr) {
    // Complete, so this returns at once; only it tells whether the operation succeeded. It frees
    // the request.
    const int status =
        session_->sharp_library().functions().wait(std::exchange(posted.request, nullptr));
    if (status != SHARP_COLL_SUCCESS) {
      return fail_for_good(call_error(session_->sharp_library(), posted.what, status));
    }
  }
  size_t at = 0;
  for (const Part& part : posted.scatter_to) {
    if (part.size > 0) std::memcpy(part.address, posted.copy.data() + at, part.size);
    at += part.size;
  }
  if (bytes != nullptr) *bytes = posted.bytes;
  give_back(posted);
  return true;
}

// libsharp does not end an operation that a dead rank takes part in.
Status LibsharpClient::look_around() {
  const TimePoint now = Clock::now();
  if (now < next_look_) return {};
  next_look_ = now + kLookInterval;
  if (Status status = session_->out_of_band().watch(); !status) {
    return fail_for_good(std::move(status).error());
  }
  return {};
}

tl::unexpected<Error> LibsharpClient::fail_for_good(Error error) {
  session_->out_of_band().report(error.message);
  SLUICE_WARN(logger_, collective, "%s", error.message.c_str());
  error_ = error;
  return fail(std::move(error));
}

}  // namespace sluice::sharp::libsharp
