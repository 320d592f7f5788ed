// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/peer_memory.h"

#include <sys/uio.h>

#include <bit>
#include <cerrno>

namespace sluice::transport::shm {
namespace {

bool read_word(pid_t process, uint64_t address, uint64_t& word) {
  const iovec local{&word, sizeof word};
  const iovec remote{std::bit_cast<void*>(address), sizeof word};
  return ::process_vm_readv(process, &local, 1, &remote, 1, 0) == sizeof word;
}

}  // namespace

bool PeerMemory::probe(const ProbeOffer& offer) const {
  if (!usable() || offer.address == 0) return false;
  uint64_t word = 0;
  if (!read_word(process_, offer.address, word) || word != offer.value) return false;
  const uint64_t complement = ~offer.value;
  const auto written =
      write(offer.address, reinterpret_cast<const std::byte*>(&complement), sizeof complement);
  return written && *written == sizeof complement && read_word(process_, offer.address, word) &&
         word == complement;
}

Result<size_t> PeerMemory::write(uint64_t address, const std::byte* data, size_t size) const {
  const iovec local{const_cast<std::byte*>(data), size};
  const iovec remote{std::bit_cast<void*>(address), size};
  ssize_t written = 0;
  do written = ::process_vm_writev(process_, &local, 1, &remote, 1, 0);
  while (written < 0 && errno == EINTR);
  if (written < 0) return fail_errno(errno, "the peer's memory cannot be written");
  return static_cast<size_t>(written);
}

}  // namespace sluice::transport::shm
