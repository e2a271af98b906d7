#include "autograd/shape.h"

#include <algorithm>
#include <ostream>

#include "autograd/dtype.h"
#include "base/error.h"

namespace tape {

int64_t checked_multiply(int64_t a, int64_t b, std::string_view what) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) raise(ErrorKind::shape, "{}: {} x {} overflows", what, a, b);
  return product;
}

int64_t checked_add(int64_t a, int64_t b, std::string_view what) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) raise(ErrorKind::shape, "{}: {} + {} overflows", what, a, b);
  return sum;
}

namespace {
std::string join(std::span<const int64_t> sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}
}  // namespace

Shape::Shape(std::span<const int64_t> sizes) {
  if (std::ssize(sizes) > kMaxRank)
    raise(ErrorKind::shape, "shape: at most {} axes are supported, got {}", kMaxRank, sizes.size());
  // A size of 0 makes the product 0, but the product of the other sizes must not overflow either.
  int64_t product = 1;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0) raise(ErrorKind::shape, "shape: sizes must not be negative, got {}", join(sizes));
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, size, &product) || product > kMaxElements) {
      raise(ErrorKind::shape, "shape: the number of elements of {} overflows", join(sizes));
    }
    sizes_[rank_++] = size;
  }
  numel_ = empty ? 0 : product;
}

int64_t Shape::axis(int64_t axis, std::string_view operation) const {
  if (axis < -rank_ || axis >= rank_)
    raise(ErrorKind::index, "{}: axis {} is out of range for shape {}", operation, axis, to_string(*this));
  return axis < 0 ? axis + rank_ : axis;
}

int64_t Shape::at(int64_t index, std::string_view operation) const { return sizes_[axis(index, operation)]; }

Shape Shape::with(int64_t axis, int64_t size) const {
  std::vector<int64_t> sizes = to_vector();
  sizes[static_cast<size_t>(axis)] = size;
  return Shape(sizes);
}

Shape Shape::inserted(int64_t axis, int64_t size) const {
  std::vector<int64_t> sizes = to_vector();
  sizes.insert(sizes.begin() + axis, size);
  return Shape(sizes);
}

Shape Shape::removed(int64_t axis) const {
  std::vector<int64_t> sizes = to_vector();
  sizes.erase(sizes.begin() + axis);
  return Shape(sizes);
}

Shape Shape::slice(int64_t first, int64_t last) const {
  return Shape(std::span<const int64_t>(begin() + first, begin() + last));
}

std::vector<int64_t> Shape::unravel(int64_t position) const {
  std::vector<int64_t> index(static_cast<size_t>(rank_));
  for (int64_t axis = rank_ - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = position % sizes_[axis];
    position /= sizes_[axis];
  }
  return index;
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

std::string to_string(const Shape& shape) { return join({shape.begin(), shape.end()}); }
std::ostream& operator<<(std::ostream& stream, const Shape& shape) { return stream << to_string(shape); }

Shape broadcast_shapes(std::string_view operation, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int64_t rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> sizes(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t in_a = i - (rank - a.rank()), in_b = i - (rank - b.rank());
    const int64_t size_a = in_a < 0 ? 1 : a[in_a], size_b = in_b < 0 ? 1 : b[in_b];
    if (size_a != size_b && size_a != 1 && size_b != 1)
      raise(ErrorKind::shape, "{}: shapes do not broadcast: {} and {} ({} vs {} on axis {})", operation, to_string(a),
            to_string(b), size_a, size_b, i - rank);
    sizes[static_cast<size_t>(i)] = size_a == 1 ? size_b : size_a;
  }
  return Shape(sizes);
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  const int64_t extra = to.rank() - from.rank();
  for (int64_t i = 0; i < from.rank(); ++i)
    if (from[i] != 1 && from[i] != to[i + extra]) return false;
  return true;
}

std::vector<bool> Axes::mask(const Shape& shape, std::string_view operation) const {
  std::vector<bool> meant(static_cast<size_t>(shape.rank()), axes_.empty());
  for (int64_t axis : axes_) {
    const auto i = static_cast<size_t>(shape.axis(axis, operation));
    if (meant[i]) raise(ErrorKind::config, "{}: axis {} is given twice", operation, axis);
    meant[i] = true;
  }
  return meant;
}

}  // namespace tape
