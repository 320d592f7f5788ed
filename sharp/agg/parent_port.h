// SPDX-License-Identifier: Apache-2.0
// What a group's data path needs of the connection to the parent.
#pragma once

#include <cstddef>

#include "sharp/wire/chunk.h"
#include "sharp/wire/membership.h"

namespace sluice::sharp {

class ParentPort {
 public:
  // Which child of the parent this node is.
  virtual uint16_t child_number() const = 0;
  // `payload` stays as it is until the result has come. True: a write was posted, which will be
  // confirmed.
  virtual bool send_chunk(const ChunkHeader& header, const std::byte* payload) = 0;
  virtual void ask_again(const Resend& resend) = 0;

 protected:
  ~ParentPort() = default;
};

}  // namespace sluice::sharp
