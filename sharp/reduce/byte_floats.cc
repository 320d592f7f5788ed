// SPDX-License-Identifier: Apache-2.0
// Kernels for the two kinds of fp8 that OCP's "8-bit floating point specification" defines: e5m2,
// the upper half of fp16; and e4m3, which has no infinity and one NaN of each sign.
#include <cstdint>

#include "sharp/reduce/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sharp/reduce/byte_floats.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before the headers that are compiled per target.
#include "sharp/reduce/widening-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::sharp::HWY_NAMESPACE {
namespace {

// What is too large becomes the greatest finite number.
using E4M3 = SmallFloat<4, 3, 0x7e, 0x7e>;
using E5M2 = SmallFloat<5, 2, 0x7c, 0x7b>;

#if HWY_TARGET == HWY_AVX3_DL

// The upper two bytes of the fp32 of every magnitude; the others are zero.
struct UpperBytes {
  alignas(64) uint8_t first[128];
  alignas(64) uint8_t second[128];
};

template <class Format>
constexpr uint32_t upper_half(uint32_t magnitude) {
  if (magnitude > Format::kLast) return 0x7fff;  // NaN
  if (magnitude >= Format::kFirstSpecial) return 0x7f80;
  constexpr int kShift = 7 - Format::kMantissa;
  if (magnitude >> Format::kMantissa != 0) {
    return (magnitude << kShift) + (Format::kRebias >> 16);
  }
  if (magnitude == 0) return 0;
  uint32_t exponent = Format::kLeastNormal >> 23;
  for (; magnitude >> Format::kMantissa == 0; magnitude <<= 1) --exponent;
  return (exponent << 7) + ((magnitude << kShift) & 0x7f);
}

template <class Format>
constexpr UpperBytes make_upper_bytes() {
  UpperBytes bytes{};
  for (uint32_t magnitude = 0; magnitude < 128; ++magnitude) {
    bytes.first[magnitude] = static_cast<uint8_t>(upper_half<Format>(magnitude) >> 8);
    bytes.second[magnitude] = static_cast<uint8_t>(upper_half<Format>(magnitude));
  }
  return bytes;
}

// Where each byte comes from, so that after interleaving the vectors are in order.
struct ByteOrder {
  alignas(64) uint8_t from[64];
};

constexpr ByteOrder make_byte_order() {
  ByteOrder order{};
  for (int lane = 0; lane < 16; ++lane) {
    const int at = lane / 4 * 16 + lane % 4 * 2;
    for (int vector = 0; vector < 4; ++vector) {
      order.from[at + vector / 2 * 8 + vector % 2] = static_cast<uint8_t>(16 * vector + lane);
    }
  }
  return order;
}

// By tables.
template <class SmallFormat>
struct Widen {
  using Format = SmallFormat;
  static constexpr UpperBytes kUpper = make_upper_bytes<Format>();
  static constexpr ByteOrder kOrder = make_byte_order();

  static HWY_INLINE __m512i look_up(const uint8_t* table, __m512i bytes) {
    return _mm512_permutex2var_epi8(_mm512_load_si512(table), bytes, _mm512_load_si512(table + 64));
  }
  static HWY_INLINE void load(const uint8_t* from, FloatVector& a, FloatVector& b, FloatVector& c,
                              FloatVector& d) {
    const __m512i bytes =
        _mm512_permutexvar_epi8(_mm512_load_si512(kOrder.from), _mm512_loadu_si512(from));
    const __m512i second = look_up(kUpper.second, bytes);
    // The sign from the byte.
    const __m512i first = _mm512_ternarylogic_epi32(look_up(kUpper.first, bytes), bytes,
                                                    _mm512_set1_epi8(-128), 0xf8);
    widen(WordVector{_mm512_unpacklo_epi8(second, first)}, a, b);
    widen(WordVector{_mm512_unpackhi_epi8(second, first)}, c, d);
  }
  static HWY_INLINE void widen(WordVector words, FloatVector& even, FloatVector& odd) {
    even = hn::BitCast(Floats(), hn::ShiftLeft<16>(words));
    odd = hn::BitCast(Floats(), hn::And(words, hn::Set(Words(), 0xffff0000u)));
  }
};

#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// By way of fp16, which the CPU converts.
using Shorts = hn::Repartition<uint16_t, Floats>;
using ShortVector = hn::Vec<Shorts>;

HWY_INLINE void widen_shorts(ShortVector shorts, FloatVector& low, FloatVector& high) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  const hn::Half<Shorts> half;
  low = hn::PromoteTo(Floats(), hn::BitCast(halves, hn::LowerHalf(half, shorts)));
  high = hn::PromoteTo(Floats(), hn::BitCast(halves, hn::UpperHalf(half, shorts)));
}

// `shorts` has the bytes in its upper halves.
HWY_INLINE void widen_bytes(E5M2, ShortVector shorts, FloatVector& low, FloatVector& high) {
  widen_shorts(shorts, low, high);
}
HWY_INLINE void widen_bytes(E4M3, ShortVector shorts, FloatVector& low, FloatVector& high) {
  const Shorts tag;
  const hn::RebindToSigned<Shorts> integers;
  // The sign twice, four bits of exponent, three of mantissa: without the second sign a fp16 whose
  // bias is greater by 8.
  const auto wide = hn::ShiftRight<1>(hn::BitCast(integers, shorts));
  const auto bits = hn::And(hn::BitCast(tag, wide), hn::Set(tag, 0xbf80));
  const auto nan = hn::Eq(hn::And(bits, hn::Set(tag, 0x3f80)), hn::Set(tag, 0x3f80));
  widen_shorts(hn::IfThenElse(nan, hn::Set(tag, 0x7fff), bits), low, high);
  const auto scale = hn::Set(Floats(), 256.0f);
  low = hn::Mul(low, scale);
  high = hn::Mul(high, scale);
}

template <class SmallFormat>
struct Widen {
  using Format = SmallFormat;

  static HWY_INLINE ShortVector load_shorts(const uint8_t* from) {
    return hn::ShiftLeft<8>(
        hn::PromoteTo(Shorts(), load_vector(hn::Rebind<uint8_t, Shorts>(), from)));
  }
  static HWY_INLINE void load(const uint8_t* from, FloatVector& a, FloatVector& b, FloatVector& c,
                              FloatVector& d) {
    widen_bytes(Format(), load_shorts(from), a, b);
    widen_bytes(Format(), load_shorts(from + hn::Lanes(Shorts())), c, d);
  }
};

#else

template <class SmallFormat>
struct Widen {
  using Format = SmallFormat;

  static HWY_INLINE FloatVector widen(const uint8_t* from) {
    return Format::widen(hn::PromoteTo(Words(), load_vector(hn::Rebind<uint8_t, Words>(), from)));
  }
  static HWY_INLINE void load(const uint8_t* from, FloatVector& a, FloatVector& b, FloatVector& c,
                              FloatVector& d) {
    const size_t n = hn::Lanes(Words());
    a = widen(from);
    b = widen(from + n);
    c = widen(from + 2 * n);
    d = widen(from + 3 * n);
  }
};

#endif

#if HWY_TARGET == HWY_AVX3_DL

// By way of fp16 as well, which can tell all fp8 from each other.
template <class Format>
struct Narrow {
  static constexpr int kShift = 10 - Format::kMantissa;  // of an element in its fp16
  static constexpr uint32_t kGreatestPower = Format::power_of_two(
      static_cast<int>(Format::kGreatest >> Format::kMantissa) - Format::kBias);
  static constexpr uint32_t kScale = Format::power_of_two(Format::kBias - 15);

  static HWY_INLINE __m512 constant(uint32_t bits) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(bits)));
  }
  // Adding a number that is so much greater than the power of two below `value`, and of the same
  // sign, rounds `value` to the mantissa of an element. Greater values than all elements stay so.
  static HWY_INLINE __m256i round(__m512 value) {
    constexpr int kLesser = 0b0010;  // magnitude, with the sign of the first operand
    constexpr int kGreater = 0b0011;
    __m512 power = _mm512_and_ps(value, constant(0xff800000u));
    power = _mm512_range_ps(power, constant(Format::kLeastNormal), kGreater);
    power = _mm512_range_ps(power, constant(kGreatestPower), kLesser);
    const __m512 factor = constant(Format::power_of_two(Format::kDropped));
    const __m512 sum = _mm512_fmadd_ps(power, factor, value);
    __m512 rounded = _mm512_fnmadd_ps(power, factor, sum);
    rounded = _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        _mm512_castps_si512(rounded), _mm512_castps_si512(value), _mm512_set1_epi32(INT32_MIN),
        0xf8));  // with its sign, if it became zero
    if constexpr (Format::kBias != 15) rounded = _mm512_mul_ps(rounded, constant(kScale));
    return _mm512_cvtps_ph(rounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static HWY_INLINE __m256i narrow(FloatVector low, FloatVector high) {
    const __m512i halves =
        _mm512_inserti64x4(_mm512_castsi256_si512(round(low.raw)), round(high.raw), 1);
    const __m512i magnitude = _mm512_and_si512(halves, _mm512_set1_epi16(0x7fff));
    const __mmask32 nan = _mm512_cmpgt_epi16_mask(magnitude, _mm512_set1_epi16(0x7c00));
    const __m512i least =
        _mm512_min_epi16(magnitude, _mm512_set1_epi16(Format::kGreatest << kShift));
    const __m512i element =
        _mm512_ternarylogic_epi32(_mm512_srli_epi16(least, kShift), _mm512_srli_epi16(halves, 8),
                                  _mm512_set1_epi16(0x80), 0xf8);
    return _mm512_cvtepi16_epi8(
        _mm512_mask_mov_epi16(element, nan, _mm512_set1_epi16(Format::kMagnitude)));
  }
  static HWY_INLINE void store(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                               const Target& to) {
    const hn::Repartition<uint8_t, Floats> bytes;
    const __m512i low = _mm512_castsi256_si512(narrow(a, b));
    to.put(bytes, hn::Vec<decltype(bytes)>{_mm512_inserti64x4(low, narrow(c, d), 1)}, 0);
  }
};

#else

template <class Format>
struct Narrow {
  using Quarter = hn::Rebind<uint8_t, Floats>;

  static HWY_INLINE hn::Vec<Quarter> narrow(FloatVector value) {
    const auto word = Format::round(value);
    return hn::DemoteTo(Quarter(), hn::BitCast(hn::RebindToSigned<Words>(), word));
  }
  static HWY_INLINE void store(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                               const Target& to) {
#if HWY_TARGET == HWY_SCALAR
    const Quarter quarter;
    to.put(quarter, narrow(a), 0);
    to.put(quarter, narrow(b), 1);
    to.put(quarter, narrow(c), 2);
    to.put(quarter, narrow(d), 3);
#else
    const hn::Twice<Quarter> half;
    const hn::Twice<decltype(half)> whole;
    to.put(whole,
           hn::Combine(whole, hn::Combine(half, narrow(d), narrow(c)),
                       hn::Combine(half, narrow(b), narrow(a))),
           0);
#endif
  }
};

#endif

template <class Format>
struct ByteFloat : InOrder {
  static constexpr size_t kElementSize = 1;

  static HWY_INLINE void load(const uint8_t* from, FloatVector& a, FloatVector& b, FloatVector& c,
                              FloatVector& d) {
    Widen<Format>::load(from, a, b, c, d);
  }
  static HWY_INLINE void store(FloatVector a, FloatVector b, FloatVector c, FloatVector d,
                               const Target& to) {
    Narrow<Format>::store(a, b, c, d, to);
  }
};

void byte_floats(const Reduction& reduction) {
  if (reduction.type == DataType::float8_e4m3) {
    run_widening<ByteFloat<E4M3>>(reduction);
  } else {
    run_widening<ByteFloat<E5M2>>(reduction);
  }
}

}  // namespace
}  // namespace sluice::sharp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::sharp {
namespace {
HWY_EXPORT(byte_floats);
}  // namespace

void reduce_byte_floats(const Reduction& reduction) {
  HWY_DYNAMIC_DISPATCH(byte_floats)(reduction);
}

}  // namespace sluice::sharp
#endif  // HWY_ONCE
