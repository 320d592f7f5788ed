// SPDX-License-Identifier: Apache-2.0
// Whether the process at the other end of a connection still lives.
//
// A connection's set-up socket stays open and carries one byte now and then in each direction, sent
// and read by one thread per Context. So an idle peer is never taken for dead (its thread beats
// while NCCL's threads sleep), a killed one is noticed at once (its kernel closes the socket), and
// a stopped or vanished one after peer_timeout. An orderly end says goodbye first, so that logs can
// tell it from a loss.
//
// Thread rule: watch() from any thread; a Watch belongs to its connection's thread. The thread
// starts with the first watched connection and is joined with the last. In a forked child nothing
// is joined, locked or sent. Ownership: the monitor owns the watched sockets; it must outlive its
// Watches.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/clock.h"
#include "base/result.h"
#include "transport/file_descriptor.h"

namespace sluice::transport {

enum class PeerState : int {
  alive,
  closed,  // it said goodbye
  lost,    // its socket ended without a goodbye
  silent,  // nothing heard for peer_timeout
};

class LivenessMonitor;
struct WatchedPeer;

class Watch {
 public:
  Watch() = default;
  Watch(LivenessMonitor* monitor, std::shared_ptr<WatchedPeer> peer)
      : monitor_(monitor), peer_(std::move(peer)) {}
  ~Watch() { end(); }
  Watch(Watch&& other) noexcept
      : monitor_(std::exchange(other.monitor_, nullptr)), peer_(std::move(other.peer_)) {}
  Watch& operator=(Watch&& other) noexcept;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  PeerState state() const;  // cheap
  // Why `peer` is not alive, as a sentence.
  Error error(const std::string& peer) const;
  // Written when the state changes, so that a sleeping event loop notices; must outlive the Watch.
  void set_wake(int event_fd);
  // Says goodbye and stops watching.
  void end();

 private:
  LivenessMonitor* monitor_ = nullptr;
  std::shared_ptr<WatchedPeer> peer_;
};

class LivenessMonitor {
 public:
  explicit LivenessMonitor(Duration peer_timeout);
  ~LivenessMonitor();
  LivenessMonitor(const LivenessMonitor&) = delete;
  LivenessMonitor& operator=(const LivenessMonitor&) = delete;

  // `their_timeout`: how long the peer bears silence of ours; max() = for ever.
  Result<Watch> watch(FileDescriptor socket, Duration their_timeout);

  // Ends the thread for good, whoever is still watched: for a library that is unloaded or a process
  // that exits with connections open. From any thread; not in a forked child.
  void halt();

 private:
  friend class Watch;
  void unwatch(WatchedPeer& peer);
  Status start();
  void stop();
  void run();
  void handle_events(int timeout_ms);
  void tend_all(TimePoint now);
  bool read_from(WatchedPeer& peer, TimePoint now);
  void tend(WatchedPeer& peer, TimePoint now);
  void end_with(WatchedPeer& peer, PeerState state, int error);

  const Duration peer_timeout_;
  const pid_t owner_;
  std::mutex life_;  // start and stop of the thread; taken before table_
  std::unique_ptr<std::thread> thread_;
  std::atomic<bool> stopping_{false};
  FileDescriptor epoll_;
  FileDescriptor wake_;
  std::mutex table_;
  bool halted_ = false;  // under life_
  uint64_t next_id_ = 1;
  std::unordered_map<uint64_t, std::shared_ptr<WatchedPeer>> peers_;
  TimePoint next_tending_;
  Duration shortest_beat_;
};

}  // namespace sluice::transport
