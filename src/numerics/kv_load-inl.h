// Numbers of the KV cache as vectors of floats: what kv_type.h says of one number, of many.
#include <algorithm>
#include <cstdint>

#include "forge/numerics/kv_type.h"
#include "hwy/highway.h"
#include "simd-inl.h"

#if defined(FORGE_NUMERICS_KV_LOAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FORGE_NUMERICS_KV_LOAD_INL_H
#undef FORGE_NUMERICS_KV_LOAD_INL_H
#else
#define FORGE_NUMERICS_KV_LOAD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace forge::numerics::HWY_NAMESPACE {

/// The floats of numbers of 16 bits: bits has as many lanes as D.
template <class D>
HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> bits, BF16 /*type*/) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}
template <class D>
HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> bits, F16 /*type*/) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
#else  // as to_float in half.h
  const hn::RebindToUnsigned<D> du;
  const auto wide = hn::PromoteTo(du, bits);
  const auto bias = hn::Set(du, 112u << 23);
  const auto magnitude = hn::And(wide, hn::Set(du, 0x7fffu));
  const auto is_subnormal = hn::Lt(magnitude, hn::Set(du, 0x0400u));
  const auto is_special = hn::Gt(magnitude, hn::Set(du, 0x7bffu));
  const auto shifted = hn::Add(hn::ShiftLeft<13>(magnitude), bias);
  const auto special = hn::IfThenElseZero(is_special, bias);
  const auto leading = hn::IfThenElseZero(is_subnormal, hn::Set(du, 1u << 23));
  const auto taken_off = hn::IfThenElseZero(is_subnormal, hn::Set(du, 113u << 23));
  const auto positive = hn::Sub(hn::BitCast(d, hn::Add(shifted, hn::Add(special, leading))),
                                hn::BitCast(d, taken_off));
  const auto sign = hn::ShiftLeft<16>(hn::AndNot(hn::Set(du, 0x7fffu), wide));
  return hn::Or(positive, hn::BitCast(d, sign));
#endif
}

/// As many numbers as D has lanes, from `from` on.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D, class Stored>
HWY_INLINE hn::Vec<D> load(D d, const Stored* from) {
  return widen(d, hn::LoadU(hn::Rebind<std::uint16_t, D>(), &from->bits), Stored());
}

/// Rows that are transposed together: those of numbers of 16 bits in vectors of 128.
inline constexpr int kSquare = 8;

#if HWY_TARGET != HWY_SCALAR

/// tile[c * stride + i] = number c of row i, for eight rows and c < count <= 8. Requires: eight
/// numbers of each row may be read.
///
/// A round interleaves rows i and i + 4, the lower halves to row 2i, the upper ones to row 2i + 1:
/// of the six bits of (row, column), the first becomes the last. After three rounds the two have
/// changed places.
template <class Stored>
HWY_INLINE void widen_square(const Stored* const* rows, int count, int stride, float* tile) {
  const hn::CappedTag<std::uint16_t, kSquare> d16;
  const hn::CappedTag<float, kSquare> d;
  hn::Vec<decltype(d16)> v[kSquare];
  for (int i = 0; i < kSquare; ++i) v[i] = hn::LoadU(d16, &rows[i]->bits);
  for (int round = 0; round < 3; ++round) {
    hn::Vec<decltype(d16)> before[kSquare];
    for (int i = 0; i < kSquare; ++i) before[i] = v[i];
    for (int i = 0; i < kSquare / 2; ++i) {
      v[2 * i] = hn::InterleaveLower(d16, before[i], before[i + kSquare / 2]);
      v[2 * i + 1] = hn::InterleaveUpper(d16, before[i], before[i + kSquare / 2]);
    }
  }
  for (int c = 0; c < kSquare; ++c) {
    if (c >= count) return;
    if constexpr (hn::MaxLanes(d) == kSquare) {
      hn::StoreU(widen(d, v[c], Stored()), d, tile + c * stride);
    } else {
      hn::StoreU(widen(d, hn::LowerHalf(v[c]), Stored()), d, tile + c * stride);
      hn::StoreU(widen(d, hn::UpperHalf(hn::Half<decltype(d16)>(), v[c]), Stored()), d,
                 tile + c * stride + kSquare / 2);
    }
  }
}

#endif

/// tile [size][kRows] = kRows rows [size], widened and transposed.
template <int kRows, class Stored>
HWY_INLINE void widen_transposed(const Stored* const* rows, int size, float* tile) {
#if HWY_TARGET == HWY_SCALAR
  for (int c = 0; c < size; ++c) {
    for (int i = 0; i < kRows; ++i) tile[c * kRows + i] = widened(rows[i][c]);
  }
#else
  static_assert(kRows % kSquare == 0);
  for (int first = 0; first < kRows; first += kSquare) {
    const Stored* at[kSquare];
    std::copy_n(rows + first, kSquare, at);
    int c = 0;
    for (; c + kSquare <= size; c += kSquare) {
      widen_square(at, kSquare, kRows, tile + c * kRows + first);
      for (const Stored*& row : at) row += kSquare;
    }
    if (c == size) continue;
    Stored rest[kSquare][kSquare] = {};
    for (int i = 0; i < kSquare; ++i) {
      std::copy_n(at[i], size - c, rest[i]);
      at[i] = rest[i];
    }
    widen_square(at, size - c, kRows, tile + c * kRows + first);
  }
#endif
}

}  // namespace forge::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
