#pragma once

#include <cstdint>

namespace tape::kernels {

/// Windows along an axis of `in` values: window i begins at i * stride - before, and its `kernel` values are `dilation`
/// apart; `out` windows.
struct Window {
  int64_t in = 1, kernel = 1, stride = 1, before = 0, dilation = 1, out = 1;

  /// Whether window i is value i and nothing else.
  bool is_each_value() const { return kernel == 1 && stride == 1 && before == 0 && in == out; }
};

/// Windows over planes [rows.in, columns.in], which give planes [rows.out, columns.out]; of a sequence, one row.
struct Windows {
  Window rows, columns;

  int64_t in() const { return rows.in * columns.in; }
  int64_t out() const { return rows.out * columns.out; }
  int64_t taps() const { return rows.kernel * columns.kernel; }
  bool are_each_value() const { return rows.is_each_value() && columns.is_each_value(); }
};

}  // namespace tape::kernels
