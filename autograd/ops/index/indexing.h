#pragma once

#include <variant>
#include <vector>

#include "../shape/shape.h"

namespace tape {

/// In index(): a new axis of size 1.
struct NewAxis {};
inline constexpr NewAxis None{};
/// In index(): all axes that no other item names.
struct RestOfAxes {};
inline constexpr RestOfAxes Ellipsis{};

/// One of what stands between the brackets of NumPy's x[...]: a position, a range, positions, a mask, None or Ellipsis.
class IndexItem {
 public:
  using Value = std::variant<int64_t, SliceOptions, Tensor, NewAxis, RestOfAxes>;

  IndexItem(int64_t position) : value_(position) {}
  IndexItem(int position) : value_(int64_t{position}) {}
  IndexItem(const SliceOptions& range) : value_(range) {}
  IndexItem(const Tensor& positions_or_mask) : value_(positions_or_mask) {}
  IndexItem(NewAxis axis) : value_(axis) {}
  IndexItem(RestOfAxes axes) : value_(axes) {}

  const Value& value() const { return value_; }

 private:
  Value value_;
};
using IndexItems = std::vector<IndexItem>;

/// x[items] as NumPy reads it: index(x, {ids, SliceOptions{.start = 1}, None}).
///
/// A position drops its axis; positions (i64) are broadcast against each other and against single positions beside
/// them, and their axes stand where the first of them does, or in front where a range, None or Ellipsis parts them; a
/// mask (bool) of n axes stands for the positions where it is true, and covers n axes of x. Negative positions count
/// from the end. Any dtype; gradients add up where positions are repeated. Error (index) for positions outside and for
/// more items than axes, (shape) for a mask that does not fit and positions that do not broadcast, (dtype) for others,
/// (config) for two Ellipsis.
Tensor index(const Tensor& x, const IndexItems& items);

struct IndexPutOptions {
  bool accumulate = false;  ///< adds to what is there, repeated positions too
};
/// A copy of x with `values`, broadcast, in the place of index(x, items). Of repeated positions the last one stays, and
/// it alone gets a gradient. Errors as index(), and (dtype) where x and the values differ.
Tensor index_put(const Tensor& x, const IndexItems& items, const Tensor& values, const IndexPutOptions& options = {});

}  // namespace tape
