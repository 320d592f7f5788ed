// SPDX-License-Identifier: Apache-2.0
// The stand-in's "switch": every rank has a socket to rank 0, which reduces.
//
// Nothing blocks but open(): progress() sends and reads what is possible. Messages are framed by
// kind, number of the operation and size. Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "transport/file_descriptor.h"

namespace sluice::stand_in {

using Bytes = std::vector<std::byte>;

// How the ranks find each other: libsharp's out-of-band collectives.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual bool barrier() = 0;
  virtual bool broadcast(void* data, int size, int root) = 0;
  virtual bool gather(int root, void* own, void* all, int size) = 0;
};

class Star {
 public:
  // False: the ranks did not find each other.
  bool open(Bootstrap& bootstrap);

  void send(int to, uint64_t number, const Bytes& payload);
  // Everything has been handed to the sockets.
  bool flushed() const;
  // What has come from a rank for an operation; null: not yet.
  const Bytes* find(int from, uint64_t number) const;
  void forget(int from, uint64_t number);
  // False: a peer is gone.
  bool progress();

 private:
  struct Link {
    transport::FileDescriptor socket;
    std::deque<Bytes> out;
    size_t sent = 0;  // of the first
    Bytes in;
    std::map<uint64_t, Bytes> arrived;
  };

  bool accept_all(int listener, uint64_t secret);
  bool connect_to(uint16_t port, uint64_t secret);
  static bool push(Link& link);
  static bool pull(Link& link);

  int rank_ = 0;
  int ranks_ = 0;
  std::vector<Link> links_;  // rank 0: by rank; others: [0]
};

}  // namespace sluice::stand_in
