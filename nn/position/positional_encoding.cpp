#include "nn/position/positional_encoding.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/device_checks.h"
#include "autograd/ops/elementwise/activation_dtype.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/positions.h"
#include "autograd/ops/shape/shape.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

void check_sizes(const char* layer, int64_t d_model, int64_t max_length, int64_t offset) {
  if (d_model < 1 || max_length < 1)
    raise(ErrorKind::config, "{}: sizes must be at least 1, got width {} and length {}", layer, d_model, max_length);
  if (offset < 0) raise(ErrorKind::config, "{}: offset must be at least 0, got {}", layer, offset);
}

/// Returns x plus the table rows of its positions, from row `offset` on.
Tensor with_rows(const char* layer, const Tensor& x, const Tensor& table, int64_t first, int64_t offset = 0) {
  if (x.rank() < 2 || x.size(-1) != table.size(1))
    raise(ErrorKind::shape, "{}: x must be [..., T, {}], got {}", layer, table.size(1), to_string(x.shape()));
  const int64_t length = x.size(-2), most = table.size(0) - offset;
  if (first < 0 || first + length > most)
    raise(ErrorKind::shape, "{}: positions {} to {} are beyond the table of {}", layer, first, first + length - 1,
          most);
  return x + beside_activation(slice(table, 0, {.start = offset + first, .end = offset + first + length}), x);
}

Shape checked_shape(int64_t d_model, int64_t max_length, const PositionalEncodingOptions& options) {
  if (options.layout == SinusoidLayout::fairseq && (d_model < 4 || d_model % 2 != 0))
    raise(ErrorKind::config, "PositionalEncoding: fairseq's sinusoids need an even width of at least 4, got {}",
          d_model);
  check_sizes("PositionalEncoding", d_model, max_length, options.offset);
  return {max_length, d_model};
}

Shape checked_learned_shape(int64_t d_model, int64_t max_length, int64_t offset) {
  check_sizes("LearnedPositionalEncoding", d_model, max_length, offset);
  return {offset + max_length, d_model};
}

/// Returns w_i for C columns.
double frequency(int64_t i, int64_t width, SinusoidLayout layout) {
  const double last = static_cast<double>(width) / 2 - (layout == SinusoidLayout::fairseq ? 1 : 0);
  return std::exp(-static_cast<double>(i) / last * std::log(10000.0));
}

Tensor make_table(const Shape& shape, const PositionalEncodingOptions& options, const TensorOptions& as) {
  std::vector<double> table;
  const int64_t length = shape[0], width = shape[1];
  const int64_t sines = (width + 1) / 2;
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t c = 0; c < width; ++c) {
      const bool in_turn = options.layout == SinusoidLayout::interleaved, sine = in_turn ? c % 2 == 0 : c < sines;
      const int64_t i = in_turn ? c / 2 : sine ? c : c - sines;
      const double angle = static_cast<double>(t + options.offset) * frequency(i, width, options.layout);
      table.push_back(sine ? std::sin(angle) : std::cos(angle));
    }
  }
  return from_vector(table, shape, as);
}

/// The rows of a table for positions, which are flattened; 0 for negative ones.
Tensor rows_of(const Tensor& positions, int64_t size) {
  const Shape flat = {positions.numel()};
  if (reading_waits(positions.device()))
    return checked_index("PositionalEncoding", "position", reshape(masked_fill(positions, lt(positions, 0), 0), flat),
                         size);
  std::vector<int64_t> rows = positions.to_vector<int64_t>();
  for (int64_t& row : rows) {
    if (row >= size) raise(ErrorKind::shape, "PositionalEncoding: position {} is beyond the table of {}", row, size);
    row = std::max<int64_t>(row, 0);
  }
  return from_vector(rows, flat);
}

}  // namespace

PositionalEncoding::PositionalEncoding(int64_t d_model, int64_t max_length, const PositionalEncodingOptions& options)
    : table(this, "table", Tensor(), Persistent::no), options_(options) {
  table = make_table(checked_shape(d_model, max_length, options), options_, f32);
}

/// Computes the table again instead of converting it, so that the f64 table has full precision.
void PositionalEncoding::dtype_changed(DType dtype) {
  table = make_table(table.shape(), options_, {dtype, table.device()});
}

Tensor PositionalEncoding::forward(const Tensor& x, int64_t first) const {
  return with_rows("PositionalEncoding", x, table, first);
}

Tensor PositionalEncoding::at(const Tensor& x, const Tensor& positions) const {
  const int64_t width = table.size(1);
  if (x.rank() != 3 || x.size(-1) != width || !(positions.shape() == Shape{x.size(0), x.size(1)}))
    raise(ErrorKind::shape, "PositionalEncoding: x must be [B, T, {}] and positions [B, T], got {} and {}", width,
          to_string(x.shape()), to_string(positions.shape()));
  const Tensor found = reshape(index_select(table, 0, rows_of(positions, table.size(0)).to(table.device())), x.shape());
  const Tensor none = reshape(lt(positions, 0), Shape{x.size(0), x.size(1), 1});
  return x + beside_activation(masked_fill(found, none, 0), x);
}

std::string PositionalEncoding::settings() const {
  return fmt::format("{}, at most {} positions{}", table.size(1), table.size(0),
                     options_.layout == SinusoidLayout::interleaved ? ""
                     : options_.layout == SinusoidLayout::halves    ? ", halves"
                                                                    : ", as fairseq's");
}

LearnedPositionalEncoding::LearnedPositionalEncoding(int64_t d_model, int64_t max_length,
                                                     const LearnedPositionalEncodingOptions& options)
    : weight(this, "weight", empty(checked_learned_shape(d_model, max_length, options.offset))),
      offset_(options.offset) {
  init::normal_(weight, 0, 0.02);
}

Tensor LearnedPositionalEncoding::forward(const Tensor& x, int64_t first) const {
  return with_rows("LearnedPositionalEncoding", x, weight, first, offset_);
}

std::string LearnedPositionalEncoding::settings() const {
  return fmt::format("{}, at most {} positions{}", weight.size(1), weight.size(0) - offset_,
                     offset_ > 0 ? fmt::format(", from row {} on", offset_) : "");
}

}  // namespace tape::nn
