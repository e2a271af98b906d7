#include "nn/positional_encoding.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/shape.h"
#include "nn/check.h"

namespace tape::nn {
namespace {

const ModuleCheck shorter("PositionalEncoding", "a shorter sequence", [](const Checker& check) {
  PositionalEncoding layer(6, 10);
  return check(layer, {sample_normal({2, 4, 6})});
});

Tensor make_table(int64_t length, int64_t width, DType dtype) {
  Tensor table = empty({length, width}, f64);
  double* values = table.mutable_data<double>();
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t i = 0; i < width; ++i) {
      const double exponent = static_cast<double>(i / 2 * 2) / static_cast<double>(width);
      const double angle = static_cast<double>(t) * std::exp(-exponent * std::log(10000.0));
      values[t * width + i] = i % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return table.to(dtype);
}

}  // namespace

PositionalEncoding::PositionalEncoding(int64_t d_model, int64_t max_length)
    : table(this, "table", Tensor(), Saved::no) {
  if (d_model < 1 || max_length < 1)
    raise(ErrorKind::config, "PositionalEncoding: sizes must be at least 1, got width {} and length {}", d_model,
          max_length);
  table = make_table(max_length, d_model, f32);
}

/// Made anew, not rounded twice: the table in f64 has all its digits.
void PositionalEncoding::dtype_changed(DType dtype) { table = make_table(table.size(0), table.size(1), dtype); }

Tensor PositionalEncoding::forward(const Tensor& x, int64_t first) const {
  if (x.rank() < 2 || x.size(-1) != table.size(1))
    raise(ErrorKind::shape, "PositionalEncoding: x must be [..., T, {}], got {}", table.size(1), to_string(x.shape()));
  const int64_t length = x.size(-2);
  if (first < 0 || first + length > table.size(0))
    raise(ErrorKind::shape, "PositionalEncoding: positions {} to {} are beyond the table of {}", first,
          first + length - 1, table.size(0));
  return x + slice(table, 0, {.start = first, .end = first + length});
}

std::string PositionalEncoding::settings() const {
  return fmt::format("{}, at most {} positions", table.size(1), table.size(0));
}

}  // namespace tape::nn
