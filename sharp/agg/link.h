// SPDX-License-Identifier: Apache-2.0
// One connection of the node in the eyes of its event loop: to a child below or to a parent above.
//
// Thread rule: one thread. Links are destroyed only between events, never from within a callback.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "transport/transport.h"

namespace sluice::sharp {

class Link {
 public:
  virtual ~Link() = default;

  // Pushes and reads. True: bytes moved.
  virtual bool drive() = 0;
  // Nothing more will come of it: to be destroyed.
  virtual bool finished() const = 0;
  // Null: it is still being set up, which nothing announces: it must be driven now and then.
  virtual transport::Connection* medium() = 0;

  // The event loop's own notes.
  uint64_t id = 0;      // of its events; 0: not known to the loop yet
  bool active = false;  // is driven in each round
  bool woken = false;   // there is something to read, as far as the medium knows
  bool paused = false;  // its events are not watched
  TimePoint last_moved{};
};

class LinkOwner {
 public:
  // Something was posted, or is to be read: the loop shall drive the link soon.
  virtual void activate(Link& link) = 0;
  // A link has got its medium.
  virtual void watch(Link& link) = 0;

 protected:
  ~LinkOwner() = default;
};

// Whoever waits for events of the media.
class EventSource {
 public:
  virtual Status add(int descriptor, uint64_t id) = 0;
  // Stops and goes on to report its events.
  virtual void pause(int descriptor, uint64_t id, bool on) = 0;

 protected:
  ~EventSource() = default;
};

}  // namespace sluice::sharp
