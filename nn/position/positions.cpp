#include "nn/position/positions.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "autograd/create.h"
#include "autograd/device_checks.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/order.h"
#include "base/error.h"

namespace tape::nn {
namespace {

int64_t checked(int64_t position) {
  if (position < 0 || position >= int64_t{1} << 53)
    raise(ErrorKind::index, "Positions: a position must be in [0, 2^53), got {}", position);
  return position;
}

}  // namespace

/// Cache of computed rotations, guarded because layers may run on several threads.
struct Positions::RotationCache {
  struct Made {
    RotaryFrequencies frequencies;
    int64_t length;
    TensorOptions options;
    RotaryTables rotary_tables;
  };
  std::mutex mutex;
  std::vector<Made> made;
};

Positions::Positions() : rotations_(std::make_shared<RotationCache>()) {}

Positions::Positions(int64_t first) : Positions() { first_ = checked(first); }

Positions::Positions(const Tensor& ids) : Positions() {
  if (ids.dtype() != i64) raise(ErrorKind::dtype, "Positions: ids must be i64, got {}", to_string(ids.dtype()));
  if (ids.rank() < 1 || ids.rank() > 2)
    raise(ErrorKind::shape, "Positions: ids must be [B, T] or [T], got {}", to_string(ids.shape()));
  ids_ = ids;
  for (const int64_t id : ids.to_vector<int64_t>()) last_ = std::max(last_, checked(id));
}

Positions Positions::or_starting_at(int64_t first) const {
  if (given()) return *this;
  Positions later = *this;
  later.first_ = first;
  later.rotations_ = std::make_shared<RotationCache>();
  return later;
}

RotaryTables Positions::rotary_tables(const RotaryFrequencies& frequencies, int64_t batch, int64_t length,
                                      const TensorOptions& as) const {
  const bool apart = ids_.defined() && ids_.rank() == 2;
  if (ids_.defined() && (ids_.size(-1) != length || (apart && ids_.size(0) != batch)))
    raise(ErrorKind::shape, "Positions: ids {} do not fit {} texts of length {}", to_string(ids_.shape()), batch,
          length);
  const std::lock_guard lock(rotations_->mutex);
  for (const RotationCache::Made& made : rotations_->made)
    if (made.length == length && made.options == as && made.frequencies == frequencies) return made.rotary_tables;

  const int64_t first = first_.value_or(0), pairs = frequencies.rotary_dim / 2;
  const std::vector<double> inverse = frequencies.inverse((ids_.defined() ? last_ : first + length - 1) + 1);
  const double factor = frequencies.attention_factor();
  const Shape shape = apart ? Shape{batch, length, pairs} : Shape{length, pairs};
  std::vector<double> cosine, sine;
  const std::vector<int64_t> ids = ids_.defined() ? ids_.to_vector<int64_t>() : std::vector<int64_t>();
  for (int64_t t = 0; t < shape.numel() / std::max<int64_t>(pairs, 1); ++t) {
    const double position = static_cast<double>(ids.empty() ? first + t : ids[static_cast<size_t>(t)]);
    for (const double w : inverse) {
      cosine.push_back(factor * std::cos(position * w));
      sine.push_back(factor * std::sin(position * w));
    }
  }
  rotations_->made.push_back({frequencies, length, as, {from_vector(cosine, shape, as), from_vector(sine, shape, as)}});
  return rotations_->made.back().rotary_tables;
}

Tensor positions_skipping_padding(const Tensor& ids, int64_t padding_id, int64_t first, int64_t padding_position) {
  if (ids.dtype() != i64) raise(ErrorKind::dtype, "Positions: ids must be i64, got {}", to_string(ids.dtype()));
  if (ids.rank() != 2) raise(ErrorKind::shape, "Positions: ids must be [B, T], got {}", to_string(ids.shape()));
  if (reading_waits(ids.device())) {
    const NoGrad no_grad;
    const Tensor counts = cumsum(ne(ids, padding_id).to(f64), 1) + static_cast<double>(first - 1);
    return masked_fill(counts, eq(ids, padding_id), static_cast<double>(padding_position)).to(i64);
  }
  const std::vector<int64_t> values = ids.to_vector<int64_t>();
  std::vector<int64_t> positions;
  const int64_t length = ids.size(1);
  int64_t next = first;
  for (const int64_t id : values) {
    if (std::ssize(positions) % length == 0) next = first;
    positions.push_back(id != padding_id ? next++ : padding_position);
  }
  return from_vector(positions, ids.shape()).to(ids.device());
}

}  // namespace tape::nn
