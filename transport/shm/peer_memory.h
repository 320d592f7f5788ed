// SPDX-License-Identifier: Apache-2.0
// Access to another process's memory (process_vm_writev), and the test whether the kernel grants
// it. Any thread. Addresses are the peer's virtual addresses.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "transport/setup/messages.h"

namespace sluice::transport::shm {

class PeerMemory {
 public:
  PeerMemory() = default;
  explicit PeerMemory(pid_t process) : process_(process) {}

  // Finds out whether writing works: reads the offered word first, to be sure that this is the
  // process which offered it, then writes its complement and reads that back.
  bool probe(const ProbeOffer& offer) const;
  bool usable() const { return process_ > 0; }
  // How much was written: all, or the error of the first byte that was not.
  Result<size_t> write(uint64_t address, const std::byte* data, size_t size) const;

 private:
  pid_t process_ = 0;
};

}  // namespace sluice::transport::shm
