// SPDX-License-Identifier: Apache-2.0
// What libsharp's opaque handles are in the stand-in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "sharp/libsharp/api.h"
#include "tests/libsharp/stand_in/collective.h"
#include "tests/libsharp/stand_in/star.h"

namespace sluice::stand_in {

// A registration.
struct Memory {
  std::byte* address = nullptr;
  size_t size = 0;
};

// The caller's out-of-band collectives.
class Callbacks final : public sluice::stand_in::Bootstrap {
 public:
  explicit Callbacks(const sharp_coll_init_spec& spec) : spec_(spec) {}
  int rank() const override { return spec_.world_rank; }
  int ranks() const override { return spec_.world_size; }
  bool barrier() override { return spec_.oob_colls.barrier(spec_.oob_ctx) == 0; }
  bool broadcast(void* data, int size, int root) override {
    return spec_.oob_colls.bcast(spec_.oob_ctx, data, size, root) == 0;
  }
  bool gather(int root, void* own, void* all, int size) override {
    return spec_.oob_colls.gather(spec_.oob_ctx, root, own, all, size) == 0;
  }

 private:
  sharp_coll_init_spec spec_;
};

}  // namespace sluice::stand_in

struct sharp_coll_context {
  explicit sharp_coll_context(const sharp_coll_init_spec& spec) : callbacks(spec) {}
  sluice::stand_in::Callbacks callbacks;
  sluice::stand_in::Star star;
  std::set<sluice::stand_in::Memory*> memory;
};

struct sharp_coll_comm {
  sharp_coll_comm(sharp_coll_context& parent, int rank, int size)
      : context(parent), group(parent.star, rank, size) {}
  sharp_coll_context& context;
  sluice::stand_in::Group group;
  uint64_t posted = 0;
};
