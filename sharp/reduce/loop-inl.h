// SPDX-License-Identifier: Apache-2.0
// The loop that all kernels share, for the instruction set being compiled (Highway's
// foreach_target).
//
// A block of eight vectors goes through all inputs together: one pass over memory, and the latency
// of the operator is hidden. What is less than a block goes through a buffer of one, so that the
// result of an element never depends on its place.
//
// A Kernel says how four vectors of accumulators lie in memory and are combined:
//   Lane                              of the accumulators
//   kElementSize                      bytes in memory
//   kWidens                           whether the form `partial` is another one; if so, four bytes
//   load(from, a, b, c, d)            elements become accumulators (references; vectors of
//   load_partial(from, a, b, c, d)    scalable instruction sets cannot be members)
//   combine(d, accumulator, vector)
//   store(a, b, c, d, to)             `to` is a Target: how to store a vector
//   store_partial(a, b, c, d, to)

#if defined(SLUICE_SHARP_REDUCE_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_SHARP_REDUCE_LOOP_INL_H_
#undef SLUICE_SHARP_REDUCE_LOOP_INL_H_
#else
#define SLUICE_SHARP_REDUCE_LOOP_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sharp/reduce/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Memory as kernels see it: no alignment, no type.
template <class D>
HWY_INLINE hn::Vec<D> load_vector(D d, const uint8_t* from) {
  return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(from));
}

// Where vectors of output go.
struct Target {
  uint8_t* at;
  bool bypass_cache;  // `at` is a multiple of the vector's size then

  template <class D>
  HWY_INLINE void put(D d, hn::Vec<D> vector, size_t offset) const {
    auto* to = reinterpret_cast<hn::TFromD<D>*>(at + offset);
    if (bypass_cache) {
      hn::Stream(vector, d, to);
    } else {
      hn::StoreU(vector, d, to);
    }
  }
};

template <class Kernel>
class Loop {
 public:
  static void run(const Reduction& reduction) { Loop(reduction).run(); }

 private:
  using Lane = typename Kernel::Lane;
  using D = hn::ScalableTag<Lane>;
  using V = hn::Vec<D>;

  explicit Loop(const Reduction& reduction)
      : reduction_(reduction),
        out_(static_cast<uint8_t*>(reduction.out)),
        out_size_(size_of(reduction.out_form)) {}

  static constexpr size_t size_of(Form form) {
    return Kernel::kWidens && form == Form::partial ? sizeof(Lane) : Kernel::kElementSize;
  }
  static const uint8_t* bytes(const ReduceInput& input) {
    return static_cast<const uint8_t*>(input.data);
  }

  static HWY_INLINE void load(Form form, const uint8_t* from, V& a, V& b, V& c, V& d) {
    if constexpr (Kernel::kWidens) {
      if (form == Form::partial) return Kernel::load_partial(from, a, b, c, d);
    }
    Kernel::load(from, a, b, c, d);
  }
  static HWY_INLINE void store(Form form, V a, V b, V c, V d, const Target& to) {
    if constexpr (Kernel::kWidens) {
      if (form == Form::partial) return Kernel::store_partial(a, b, c, d, to);
    }
    Kernel::store(a, b, c, d, to);
  }

  // The block `from(input)` of all inputs.
  template <class From>
  HWY_INLINE void block(const Target& to, From from) const {
    const D d;
    const size_t half = 4 * hn::Lanes(d);
    const ReduceInput* input = reduction_.inputs.data();
    const ReduceInput* const end = input + reduction_.inputs.size();
    const uint8_t* at = from(*input);
    V a0, a1, a2, a3, a4, a5, a6, a7;
    load(input->form, at, a0, a1, a2, a3);
    load(input->form, at + half * size_of(input->form), a4, a5, a6, a7);
    for (++input; input != end; ++input) {
      at = from(*input);
      V b0, b1, b2, b3;
      load(input->form, at, b0, b1, b2, b3);
      a0 = Kernel::combine(d, a0, b0);
      a1 = Kernel::combine(d, a1, b1);
      a2 = Kernel::combine(d, a2, b2);
      a3 = Kernel::combine(d, a3, b3);
      load(input->form, at + half * size_of(input->form), b0, b1, b2, b3);
      a4 = Kernel::combine(d, a4, b0);
      a5 = Kernel::combine(d, a5, b1);
      a6 = Kernel::combine(d, a6, b2);
      a7 = Kernel::combine(d, a7, b3);
    }
    store(reduction_.out_form, a0, a1, a2, a3, to);
    store(reduction_.out_form, a4, a5, a6, a7, {to.at + half * out_size_, to.bypass_cache});
  }

  // Less than a block.
  HWY_NOINLINE void piece(size_t at, size_t count) const {
    HWY_ALIGN uint8_t
        buffer[8 * hn::MaxLanes(D()) * std::max(sizeof(Lane), Kernel::kElementSize)] = {};
    block({buffer, false}, [&](const ReduceInput& input) {
      const size_t size = size_of(input.form);
      std::memcpy(buffer, bytes(input) + at * size, count * size);
      return static_cast<const uint8_t*>(buffer);
    });
    std::memcpy(out_ + at * out_size_, buffer, count * out_size_);
  }

  // Elements until the output is aligned for stores around the cache; all if it never is.
  size_t unaligned() const {
    const size_t vector = hn::Lanes(D()) * sizeof(Lane);
    const size_t over = reinterpret_cast<uintptr_t>(out_) % vector;
    if (over == 0) return 0;
    return (vector - over) % out_size_ == 0 ? (vector - over) / out_size_ : reduction_.elements;
  }

  void run() const {
    const size_t count = 8 * hn::Lanes(D());
    const size_t elements = reduction_.elements;
    size_t at = 0;
    bool bypass_cache = false;
    if (reduction_.bypass_cache && unaligned() + count <= elements) {
      at = unaligned();
      if (at > 0) piece(0, at);
      bypass_cache = true;
    }
    for (; elements - at >= count; at += count) {
      block({out_ + at * out_size_, bypass_cache},
            [&](const ReduceInput& input) { return bytes(input) + at * size_of(input.form); });
    }
    if (bypass_cache) hwy::FlushStream();
    if (at < elements) piece(at, elements - at);
  }

  const Reduction& reduction_;
  uint8_t* out_;
  size_t out_size_;
};

// Elements that are their own accumulators.
template <typename T>
struct PlainVectors {
  using Lane = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr size_t kElementSize = sizeof(T);
  static constexpr bool kWidens = false;

  static HWY_INLINE void load(const uint8_t* from, V& a, V& b, V& c, V& d) {
    const D tag;
    const size_t size = hn::Lanes(tag) * sizeof(T);
    a = load_vector(tag, from);
    b = load_vector(tag, from + size);
    c = load_vector(tag, from + 2 * size);
    d = load_vector(tag, from + 3 * size);
  }
  static HWY_INLINE void store(V a, V b, V c, V d, const Target& to) {
    const D tag;
    const size_t size = hn::Lanes(tag) * sizeof(T);
    to.put(tag, a, 0);
    to.put(tag, b, size);
    to.put(tag, c, 2 * size);
    to.put(tag, d, 3 * size);
  }
};

}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SLUICE_SHARP_REDUCE_LOOP_INL_H_
