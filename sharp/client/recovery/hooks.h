// SPDX-License-Identifier: Apache-2.0
// Between a rank's data path (GroupClient) and its recovery (the council's thread).
//
// The data path does not end when its tree breaks, if somebody listens: it says so and keeps its
// operations. The council then takes it off the old tree, and puts it on a new one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sharp/client/node_joiner.h"
#include "sharp/wire/reform.h"

namespace sluice::sharp {

class TroubleListener {
 public:
  virtual ~TroubleListener() = default;
  // The way to the tree of this epoch is broken. Called at most once an epoch, with the data path's
  // mutex held: returns at once and does not call back.
  virtual void on_trouble(uint32_t epoch, uint16_t culprit, std::string sentence) = 0;
  // Calls no hook any more from its return on. Before the data path leaves its tree; the listener
  // is destroyed after that, because it may own nodes of the tree.
  virtual void close() = 0;
};

// Implemented by GroupClient; called by the council's thread; each call takes the data path's
// mutex.
class RecoverableGroup {
 public:
  virtual ~RecoverableGroup() = default;
  // Closes the connection to the old tree, without a Leave if it is broken: from its return on
  // nothing of the old epoch reaches a buffer. Operations posted meanwhile wait. May be called
  // again, with the same answer. `hosted` and `epoch` are left to the council.
  virtual Standing cut_off() = 0;
  // Goes on with a new tree: every chunk from the start of each class on is sent again, as the
  // ledger says. If the session has broken already, on_trouble() tells it afterwards.
  virtual Status resume(NodeJoiner::Session session, const Resume& resume,
                        const GroupShape& shape) = 0;
  // Drives the new way; true once everything that was sent in an epoch before has been answered in
  // this one: the other ranks need it, even if this rank's caller is elsewhere or has all it wants.
  virtual bool settle() = 0;
  // The end: every operation that is not done, and every later call, gets this error.
  virtual void break_off(const Error& error) = 0;
};

}  // namespace sluice::sharp
