// SPDX-License-Identifier: Apache-2.0
// PeerLink: a send comm to one rank and a receive comm from one, connected as NCCL connects.
// RegisteredBuffer: host memory known to a comm.
//
// Ownership: both hold plugin objects and give them back in NCCL's order (deregister, then close),
// on the service thread; the communicator must outlive them, a buffer's link the buffer. Thread
// rule: made and destroyed by the user's thread; comms are used by the progress thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "perf/driver/communicator.h"

namespace sluice::perf {

class PeerLink {
 public:
  // All ranks call it. `next` and `previous` are ranks; -1: this rank stays out.
  static Result<PeerLink> connect(Communicator& communicator, int next, int previous);

  PeerLink(PeerLink&& other) noexcept;
  PeerLink& operator=(PeerLink&&) = delete;
  ~PeerLink();

  void* send_comm() const { return send_comm_; }
  void* receive_comm() const { return receive_comm_; }
  Communicator& communicator() const { return *communicator_; }

 private:
  explicit PeerLink(Communicator& communicator) : communicator_(&communicator) {}
  Status listen(Handle* handle);
  Status meet(Handle* next_handle);

  Communicator* communicator_;
  void* listen_comm_ = nullptr;
  void* send_comm_ = nullptr;
  void* receive_comm_ = nullptr;
};

// Page-aligned host memory.
class HostMemory {
 public:
  explicit HostMemory(size_t bytes);
  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  size_t size_;
  std::unique_ptr<std::byte, Free> data_;
};

class Registration {
 public:
  static Result<Registration> make(Communicator& communicator, PluginApi& api, void* comm,
                                   void* data, size_t bytes);

  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&&) = delete;
  ~Registration();

  void* region() const { return region_; }

 private:
  Registration(Communicator& communicator, PluginApi& api, void* comm)
      : communicator_(&communicator), api_(&api), comm_(comm) {}

  Communicator* communicator_;
  PluginApi* api_;
  void* comm_;
  void* region_ = nullptr;
};

}  // namespace sluice::perf
