#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

#include "autograd/kernels/attention/attention.h"
#include "tests/cuda/kernels/beside_cpu.h"

// Calls of attention's kernels, for tests of each type of values.

namespace tape::kernels::attention_cases {

/// A call of attention: sizes and options, and which operands and results it has.
struct AttentionCase {
  AttentionShape shape;
  bool keep = false, additive = false, dprobabilities = false, rows = false;
  bool probabilities = true, for_backward = true, dq = true, dk = true, dv = true, dadditive = true;
};

inline std::string text(const AttentionCase& c) {
  const AttentionShape& s = c.shape;
  return fmt::format(
      "B {}, H {} in groups of {}, Tq {}, Tk {}, D {}, Dv {}, offsets {} and {}, dropout {}, keep {} {} {} {} {}, "
      "additive {} {} {} {} {}, dprobabilities {}, rows {}, probabilities {}, for backward {}, dq {}, dk {}, dv {}, "
      "dadditive {}",
      s.B, s.H, s.group, s.Tq, s.Tk, s.D, s.Dv, s.first_offset, s.causal_offset, s.dropout, c.keep, s.keep_strides[0],
      s.keep_strides[1], s.keep_strides[2], s.keep_strides[3], c.additive, s.additive_strides[0], s.additive_strides[1],
      s.additive_strides[2], s.additive_strides[3], c.dprobabilities, c.rows, c.probabilities, c.for_backward, c.dq,
      c.dk, c.dv, c.dadditive);
}

/// Operands [B, H, T, D] or, packed, [B, T, H D] with `gap` values between the batch elements.
inline AttentionCase attention_case(int64_t B, int64_t kv_heads, int64_t group, int64_t Tq, int64_t Tk, int64_t D,
                                    int64_t Dv, bool packed = false, int64_t gap = 3) {
  const auto layout = [&](int64_t heads, int64_t rows, int64_t width) {
    return packed ? HeadLayout{rows * heads * width + gap, width, heads * width}
                  : HeadLayout{heads * rows * width, rows * width, width};
  };
  AttentionCase c;
  AttentionShape& s = c.shape;
  s.B = B, s.H = kv_heads * group, s.group = group, s.Tq = Tq, s.Tk = Tk, s.D = D, s.Dv = Dv;
  s.q = layout(s.H, Tq, D), s.k = layout(kv_heads, Tk, D);
  s.v = layout(kv_heads, Tk, Dv), s.out = layout(s.H, Tq, Dv);
  s.scale = 1 / std::sqrt(static_cast<double>(D + 1));
  s.seed = 77;
  s.counter = 13;
  return c;
}
/// Row-major strides over [B, H, Tq, Tk], 0 along the axes that are not in `axes` (bit a for axis a).
inline void set_strides(const AttentionShape& s, int axes, int64_t (&strides)[4]) {
  const int64_t sizes[4] = {s.B, s.H, s.Tq, s.Tk};
  int64_t next = 1;
  for (int axis = 3; axis >= 0; --axis) {
    strides[axis] = axes >> axis & 1 ? next : 0;
    if (strides[axis]) next *= sizes[axis];
  }
}
/// Number of elements of a mask with these strides over [B, H, Tq, Tk].
inline int64_t mask_elements(const AttentionShape& s, const int64_t (&strides)[4]) {
  const int64_t sizes[4] = {s.B, s.H, s.Tq, s.Tk};
  int64_t last = 0;
  for (int axis = 0; axis < 4; ++axis) last += std::max<int64_t>(0, sizes[axis] - 1) * strides[axis];
  return last + 1;
}
/// A keep mask with runs, so that whole tiles are hidden too.
inline beside_cpu::Array<uint8_t> random_keep(int64_t n) {
  beside_cpu::Array<uint8_t> keep(static_cast<size_t>(n));
  std::mt19937 engine(8);
  for (size_t i = 0; i < keep.size(); ++i) keep[i] = engine() % 8 ? (i ? keep[i - 1] : 1) : engine() % 2;
  return keep;
}

}  // namespace tape::kernels::attention_cases
