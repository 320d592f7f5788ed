// SPDX-License-Identifier: Apache-2.0
// A communicator at libsharp: its context (the SHARP job), its group, its registered memory.
//
// libsharp calls back for out-of-band collectives while a context or a group is made, and may when
// they end; then the answer is an error at once. Regions share the session: the context ends with
// the last of them. Thread rule: as libsharp with thread support: memory may be registered from
// another thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sharp/libsharp/library.h"
#include "sharp/libsharp/mapping.h"
#include "sharp/libsharp/out_of_band.h"
#include "sharp/libsharp/settings.h"

namespace sluice::sharp::libsharp {

class Session {
 public:
  Session(std::shared_ptr<const Library> library, std::unique_ptr<OutOfBand> out_of_band)
      : library_(std::move(library)), out_of_band_(std::move(out_of_band)) {}
  // Waits for no rank.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Both are collective and block: what libsharp does in them is bounded by libsharp alone.
  Status open_context(const Settings& settings, uint64_t job);
  Status open_group();
  // From here on libsharp gets no more out-of-band collectives.
  void close_group();

  // What this rank's switches and library can do, less what the settings forbid.
  Result<Capabilities> capabilities(const Settings& settings) const;

  const Library& sharp_library() const { return *library_; }
  OutOfBand& out_of_band() { return *out_of_band_; }
  sharp_coll_context* context() { return context_; }
  sharp_coll_comm* group() { return group_; }

 private:
  std::shared_ptr<const Library> library_;
  std::unique_ptr<OutOfBand> out_of_band_;
  sharp_coll_context* context_ = nullptr;
  sharp_coll_comm* group_ = nullptr;
};

// "SHARP allreduce failed: Group error (-4): ..."
Error call_error(const Library& library, const char* what, int status);

}  // namespace sluice::sharp::libsharp
