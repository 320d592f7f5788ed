// SPDX-License-Identifier: Apache-2.0
// Comm: what every connection object that NCCL holds (sendComm, recvComm, collComm) has in common.
//
// The first error sticks: it is logged once and returned by every later call. Refused arguments are
// not errors of the connection; it stays usable. Memory may be deregistered and the object closed
// in any state, as NCCL does on abort: what is still in flight then is cut off first, so that
// nothing is written into memory NCCL has got back. Ownership: NCCL's, from connect/accept until
// close. It owns its connection, memory handles and requests. Thread rule: one thread posts and
// tests; another may register and deregister meanwhile.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "plugin/context.h"
#include "plugin/memory_table.h"

namespace sluice::plugin {

class Comm {
 public:
  enum class Kind { send, receive, collective };

  virtual ~Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  Kind kind() const { return kind_; }

  // `type` is NCCL's pointer type; only host memory is taken.
  Result<MemoryHandle*> register_memory(void* data, size_t size, int type);
  // Never fails: NCCL gives its clean-up up at the first error.
  void deregister_memory(const void* handle);

 protected:
  // `what` names the connection in messages: "send to 10.0.0.1:4711".
  Comm(Kind kind, std::shared_ptr<CommunicatorContext> context, std::string what);

  virtual Result<std::unique_ptr<transport::MemoryRegion>> register_region(void* data,
                                                                           size_t size) = 0;
  // Drops the connection and with it everything in flight. With driver_ held.
  virtual void drop_connection() = 0;

  // With driver_ held.
  Status check_alive() const;
  // Makes the error stick and logs it if it is the first. With driver_ held.
  tl::unexpected<Error> fail_for_good(Error error);
  // Refuses an argument: logs (a few times) and leaves the connection usable.
  tl::unexpected<Error> refuse(const std::string& message);

  // The region a request may use for [data, data + size); null without a handle, which host memory
  // may lack.
  Result<const transport::MemoryRegion*> region_of(void* handle, const void* data, size_t size);

  const Kind kind_;
  const std::shared_ptr<CommunicatorContext> context_;  // first: outlives the connection
  MemoryTable memory_;
  std::mutex driver_;  // held by whoever drives the connection

 private:
  Logger logger() const { return context_->logger(); }

  const std::string what_;
  std::mutex registration_;  // keeps the connection in place while memory is registered
  std::optional<Error> error_;
  LogLimiter refusals_{8};
};

// Counts a request's claim on the memory it names.
void claim(std::span<MemoryHandle* const> handles);
void release(std::span<MemoryHandle* const> handles);

}  // namespace sluice::plugin
