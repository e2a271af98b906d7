#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tape {

/// Sizes of a tensor's axes, outermost first, at most kMaxRank. Sizes may be 0; rank 0 is a single element.
class Shape {
 public:
  static constexpr int64_t kMaxRank = 8;  ///< maximum number of axes
  /// Maximum number of elements, not counting sizes of 0. Larger than any memory, and small enough below 2^63 that byte
  /// counts and work estimates computed from sizes cannot overflow.
  static constexpr int64_t kMaxElements = int64_t{1} << 48;

  Shape() = default;
  /// Throws Error (shape) for a negative size, more than kMaxRank axes or more than kMaxElements elements.
  /// @{
  Shape(std::initializer_list<int64_t> sizes) : Shape(std::span<const int64_t>(sizes.begin(), sizes.size())) {}
  Shape(const std::vector<int64_t>& sizes) : Shape(std::span<const int64_t>(sizes)) {}
  explicit Shape(std::span<const int64_t> sizes);
  /// @}

  int64_t rank() const { return rank_; }    ///< number of axes
  int64_t numel() const { return numel_; }  ///< number of elements: the product of the sizes, 1 for rank 0
  /// Size of an axis, counted from the back if negative. Throws Error as at().
  int64_t operator[](int64_t axis) const {
    const int64_t from_front = axis < 0 ? axis + rank_ : axis;
    return from_front >= 0 && from_front < rank_ ? sizes_[from_front] : at(axis);
  }
  /// Size of an axis, counted from the back if negative. Throws Error if it is out of range.
  int64_t at(int64_t axis, std::string_view operation = "shape") const;
  /// The axis as an index from 0 to rank() - 1. Throws Error `operation: axis 3 is out of range for shape [2, 3]`.
  int64_t axis(int64_t axis, std::string_view operation) const;

  const int64_t* begin() const { return sizes_; }        ///< the size of the first axis
  const int64_t* end() const { return sizes_ + rank_; }  ///< past the size of the last axis
  /// The sizes, outermost first.
  std::vector<int64_t> to_vector() const { return {begin(), end()}; }

  Shape with(int64_t axis, int64_t size) const;      ///< with the size of one axis replaced
  Shape inserted(int64_t axis, int64_t size) const;  ///< with an axis inserted before `axis`
  Shape removed(int64_t axis) const;                 ///< without one axis
  Shape slice(int64_t first, int64_t last) const;    ///< axes first .. last - 1

  /// Multi-index of a flat row-major index: 4 in [2, 3] is {1, 1}. 0 <= position < numel(); not checked.
  std::vector<int64_t> unravel(int64_t position) const;

  bool operator==(const Shape& other) const;  ///< the same rank and sizes

 private:
  int64_t rank_ = 0;
  int64_t numel_ = 1;
  int64_t sizes_[kMaxRank] = {};
};

std::string to_string(const Shape& shape);                           ///< "[2, 3]"
std::ostream& operator<<(std::ostream& stream, const Shape& shape);  ///< writes to_string()

/// a * b for counts of elements or bytes. Throws Error on overflow.
int64_t checked_multiply(int64_t a, int64_t b, std::string_view what);
int64_t checked_add(int64_t a, int64_t b, std::string_view what);  ///< a + b, checked likewise

/// NumPy broadcast of two shapes. Throws Error `operation: shapes do not broadcast: [2, 3] and [4]`.
Shape broadcast_shapes(std::string_view operation, const Shape& a, const Shape& b);
/// Whether `from` broadcasts to exactly `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

/// A set of axes, given as one index or a list; empty means all axes.
class Axes {
 public:
  Axes() = default;
  /// One axis, or several; negative axes count from the end. Checked by the operation that they are passed to.
  /// @{
  Axes(int64_t axis) : axes_{axis} {}
  Axes(int axis) : axes_{axis} {}
  Axes(std::initializer_list<int64_t> axes) : axes_(axes) {}
  Axes(std::vector<int64_t> axes) : axes_(std::move(axes)) {}
  /// @}
  Axes(bool) = delete;  // x.var(False) and x.sum(True) are not axes: write {.correction = 0}, Dims::keep

  /// Whether no axis was given, which means all axes.
  bool all() const { return axes_.empty(); }
  /// For each axis of the shape, whether it is in the set. Throws Error for an axis out of range or given twice.
  std::vector<bool> mask(const Shape& shape, std::string_view operation) const;

 private:
  std::vector<int64_t> axes_;
};

/// Whether a reduction keeps the reduced axes with size 1.
enum class Dims { drop, keep };

}  // namespace tape
