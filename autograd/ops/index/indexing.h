#pragma once

#include <variant>
#include <vector>

#include "../shape/shape.h"

namespace tape {

/// In index(): a new axis of size 1.
struct NewAxis {};
inline constexpr NewAxis None{};  ///< passed to index() for a new axis
/// In index(): all axes that no other item indexes.
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};  ///< passed to index() for all other axes

/// One item between the brackets of NumPy's x[...]: a position, a range, a tensor of positions, a mask, None or
/// Ellipsis.
class IndexItem {
 public:
  /// The kinds of items.
  using Value = std::variant<int64_t, SliceOptions, Tensor, NewAxis, EllipsisType>;

  /// A position, a range, a tensor of positions (i64) or a mask (bool), None, or Ellipsis. Checked by index().
  /// @{
  IndexItem(int64_t position) : value_(position) {}
  IndexItem(int position) : value_(int64_t{position}) {}
  IndexItem(const SliceOptions& range) : value_(range) {}
  IndexItem(const Tensor& positions_or_mask) : value_(positions_or_mask) {}
  IndexItem(NewAxis axis) : value_(axis) {}
  IndexItem(EllipsisType axes) : value_(axes) {}
  /// @}
  IndexItem(bool) = delete;  // NumPy's x[True] adds an axis; write None

  const Value& value() const { return value_; }  ///< as passed to the constructor

 private:
  Value value_;
};
/// All items between the brackets, in order.
using IndexItems = std::vector<IndexItem>;

/// x[items] with NumPy's semantics: index(x, {ids, SliceOptions{.start = 1}, None}).
///
/// A single position drops its axis. Index tensors (i64) are broadcast against each other and against single positions
/// next to them; their axes replace the first indexed axis, or come first if a range, None or Ellipsis separates them.
/// A mask (bool) of n axes covers n axes of x and selects the positions where it is true. Negative positions count from
/// the end. Any dtype; gradients of repeated positions accumulate. Error (index) for positions out of range and for
/// more items than axes, (shape) for a mask that does not fit and positions that do not broadcast, (dtype) for other
/// index dtypes, (config) for two Ellipsis.
Tensor index(const Tensor& x, const IndexItems& items);

/// Options of index_put().
struct IndexPutOptions {
  bool accumulate = false;  ///< add instead of replacing; repeated positions accumulate
};
/// A copy of x with `values`, broadcast, written to index(x, items). For repeated positions the last value wins and
/// only it gets a gradient. Errors as in index(), and (dtype) if x and the values differ.
Tensor index_put(const Tensor& x, const IndexItems& items, const Tensor& values, const IndexPutOptions& options = {});

}  // namespace tape
