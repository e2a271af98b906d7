#pragma once

#include <cstdint>

namespace tape::kernels {

/// `out` windows along an axis of `in` values: window i begins at i * stride - before and has `kernel` values,
/// `dilation` apart.
struct Window {
  int64_t in = 1, kernel = 1, stride = 1, before = 0, dilation = 1, out = 1;

  /// Whether window i consists of value i only.
  bool is_each_value() const { return kernel == 1 && stride == 1 && before == 0 && in == out; }
};

/// Windows over planes [rows.in, columns.in], giving planes [rows.out, columns.out]; a sequence has one row.
struct Windows {
  Window rows, columns;

  constexpr int64_t in() const { return rows.in * columns.in; }
  constexpr int64_t out() const { return rows.out * columns.out; }
  constexpr int64_t taps() const { return rows.kernel * columns.kernel; }
  bool are_each_value() const { return rows.is_each_value() && columns.is_each_value(); }
};

}  // namespace tape::kernels
