#include "autograd/ops/index/indexing.h"

#include <algorithm>
#include <optional>

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/positions.h"
#include "autograd/ops/index/scatter.h"

namespace tape {
namespace {

/// A resolved item: what it selects from one axis of x, or for a mask from several axes flattened into one.
struct Entry {
  int64_t size = 1, stride = 0;            // of the axis in x; size 1 for None
  int64_t start = 0, step = 1, count = 1;  // of a range
  Tensor ids = {};                         // positions; undefined for other items
  bool dropped = false;                    // a single position: not an axis of the result
  bool added = false;                      // None

  bool advanced() const { return ids.defined(); }
  bool whole() const { return !advanced() && !dropped && start == 0 && step == 1 && count == size; }
};

/// Resolves items against the axes of x, from first to last.
class ItemResolver {
 public:
  ItemResolver(const char* operation, const Tensor& x, const IndexItems& items) : operation_(operation), x_(x) {
    int64_t given = 0, rests = 0;
    for (const IndexItem& item : items) {
      given += axes_of(item);
      rests += std::holds_alternative<EllipsisType>(item.value());
      has_ids_ = has_ids_ || std::holds_alternative<Tensor>(item.value());
    }
    if (rests > 1) raise(ErrorKind::config, "{}: at most one Ellipsis is allowed, got {}", operation, rests);
    if (given > x.rank()) raise(ErrorKind::index, "{}: {} indices for {}", operation, given, to_string(x.shape()));
    for (const IndexItem& item : items) {
      if (std::holds_alternative<EllipsisType>(item.value())) {
        rest = entries.size();
        add_whole(x.rank() - given);
      } else {
        add(item);
      }
    }
    add_whole(x.rank() - axis_);
  }

  std::vector<Entry> entries = {};
  std::optional<size_t> rest = {};  // the place of an Ellipsis among them

 private:
  static int64_t axes_of(const IndexItem& item) {
    if (const Tensor* ids = std::get_if<Tensor>(&item.value())) return ids->dtype() == boolean ? ids->rank() : 1;
    return std::holds_alternative<int64_t>(item.value()) || std::holds_alternative<SliceOptions>(item.value());
  }

  /// The next `axes` axes, flattened into one.
  Entry next(int64_t axes) {
    const Shape& shape = x_.shape();
    Entry entry{.size = shape.slice(axis_, axis_ + axes).numel(),
                .stride = shape.slice(axis_ + axes, shape.rank()).numel()};
    entry.count = entry.size;
    axis_ += axes;
    return entry;
  }
  void add_whole(int64_t axes) {
    for (; axes > 0; --axes) entries.push_back(next(1));
  }

  void add(const IndexItem& item) {
    if (const int64_t* position = std::get_if<int64_t>(&item.value())) return add_position(*position);
    if (const SliceOptions* range = std::get_if<SliceOptions>(&item.value())) return add_range(*range);
    if (const Tensor* ids = std::get_if<Tensor>(&item.value()))
      return ids->dtype() == boolean ? add_mask(*ids) : add_ids(*ids);
    entries.push_back({.added = true});
  }
  void add_position(int64_t position) {
    Entry entry = next(1);
    if (position < -entry.size || position >= entry.size)
      raise(ErrorKind::index, "{}: position {} is outside [{}, {}) on axis {} of {}", operation_, position, -entry.size,
            entry.size, axis_ - 1, to_string(x_.shape()));
    if (position < 0) position += entry.size;
    // With index tensors, a single position acts as an index tensor.
    if (has_ids_) {
      entry.ids = scalar(position, {i64, x_.device()});
    } else {
      entry.start = position;
      entry.count = 1;
      entry.dropped = true;
    }
    entries.push_back(entry);
  }
  void add_range(const SliceOptions& range) {
    Entry entry = next(1);
    if (range.step < 1) raise(ErrorKind::config, "{}: the step must be at least 1, got {}", operation_, range.step);
    const auto clipped = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + entry.size : i, 0, entry.size); };
    entry.start = clipped(range.start);
    const int64_t length = clipped(range.end) - entry.start;
    entry.step = std::min(range.step, std::max<int64_t>(entry.size, 1));
    entry.count = length > 0 ? (length - 1) / entry.step + 1 : 0;
    entries.push_back(entry);
  }
  void add_ids(const Tensor& ids) {
    Entry entry = next(1);
    entry.ids = wrapped_index(operation_, ids, entry.size);
    entries.push_back(entry);
  }
  void add_mask(const Tensor& mask) {
    if (mask.rank() == 0) raise(ErrorKind::shape, "{}: a mask needs at least one axis", operation_);
    if (mask.shape() != x_.shape().slice(axis_, axis_ + mask.rank()))
      raise(ErrorKind::shape, "{}: the mask {} does not fit {} starting at axis {}", operation_,
            to_string(mask.shape()), to_string(x_.shape()), axis_);
    Entry entry = next(mask.rank());
    entry.ids = flat_nonzero(mask.detach());
    entries.push_back(entry);
  }

  const char* operation_;
  const Tensor& x_;
  int64_t axis_ = 0;
  bool has_ids_ = false;
};

/// x as [outer, rows, inner] and the selected rows; the result has their values in `shape`.
struct Selection {
  Shape shape;
  int64_t outer = 1, rows = 1, inner = 1;
  Tensor positions;  // [n]
};

Shape joined(const Shape& a, const Shape& b) {
  std::vector<int64_t> sizes = a.to_vector();
  sizes.insert(sizes.end(), b.begin(), b.end());
  return Shape(sizes);
}

/// Broadcast shape of all index tensors; its axes go before entry `first`, which is 0 if other items separate them,
/// even an Ellipsis that stands for no axes.
struct BroadcastIds {
  size_t first = 0;
  Shape shape;
};
BroadcastIds broadcast_ids(const char* operation, const ItemResolver& items) {
  const std::vector<Entry>& entries = items.entries;
  BroadcastIds ids;
  size_t last = 0, count = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].advanced()) continue;
    if (count++ == 0) ids.first = i;
    last = i;
    ids.shape = broadcast_shapes(operation, ids.shape, entries[i].ids.shape());
  }
  const bool apart = items.rest && ids.first < *items.rest && *items.rest <= last;
  if (count > 0 && (apart || last - ids.first + 1 != count)) ids.first = 0;
  return ids;
}

/// Row numbers of the selection: the sum of each entry's contribution, broadcast over the axes of the result.
Tensor rows_of(Device device, const std::vector<Entry>& entries, const BroadcastIds& ids, int64_t unit) {
  int64_t dims = ids.shape.rank();
  for (const Entry& entry : entries) dims += !entry.advanced() && !entry.dropped;
  Tensor rows;
  const auto add_part = [&](const Tensor& part) { rows = rows.defined() ? rows + part : part; };
  std::vector<int64_t> shape;
  int64_t behind = dims, fixed = 0;  // behind: number of result axes from the next entry's on
  const auto spread = [](const Tensor& part, int64_t axes_behind) {
    Shape wide = part.shape();
    for (int64_t i = 0; i < axes_behind; ++i) wide = wide.inserted(wide.rank(), 1);
    return reshape(part, wide);
  };
  int64_t ids_behind = -1;
  for (size_t i = 0; i <= entries.size(); ++i) {
    if (i == ids.first && ids_behind < 0) {
      behind -= ids.shape.rank();
      ids_behind = behind;
      shape.insert(shape.end(), ids.shape.begin(), ids.shape.end());
    }
    if (i == entries.size()) break;
    const Entry& entry = entries[i];
    const int64_t stride = entry.stride / unit;
    if (entry.advanced()) {
      add_part(spread(stride == 1 ? entry.ids : entry.ids * stride, ids_behind));
    } else if (entry.dropped) {
      fixed += entry.start * stride;
    } else {
      --behind;
      shape.push_back(entry.count);
      if (entry.size > 1 || entry.count != 1)
        add_part(spread(affine(arange(entry.count, {i64, device}), static_cast<double>(entry.step * stride),
                               static_cast<double>(entry.start * stride)),
                        behind));
    }
  }
  if (!rows.defined()) rows = scalar(0, {i64, device});
  if (fixed != 0) rows = affine(rows, 1, static_cast<double>(fixed));
  return rows.shape() == Shape(shape) ? rows : expand_to(rows, Shape(shape));
}

bool has_index_tensors(const std::vector<Entry>& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const Entry& entry) { return entry.advanced(); });
}

Selection select_rows(const char* operation, Device device, const ItemResolver& items) {
  BroadcastIds ids = broadcast_ids(operation, items);
  std::vector<Entry> entries = items.entries;
  Selection selection;
  // Trailing whole axes are copied in one piece, leading whole axes become the outer loop.
  std::vector<int64_t> inner, outer;
  while (!entries.empty() && entries.back().whole()) {
    inner.insert(inner.begin(), entries.back().count);
    selection.inner *= entries.back().size;
    entries.pop_back();
  }
  const bool has_ids = has_index_tensors(entries);
  while (!entries.empty() && entries.front().whole() && (!has_ids || ids.first > 0)) {
    outer.push_back(entries.front().count);
    selection.outer *= entries.front().size;
    entries.erase(entries.begin());
    if (has_ids) --ids.first;
  }
  for (const Entry& entry : entries) selection.rows *= entry.size;
  const Tensor rows = rows_of(device, entries, ids, std::max<int64_t>(selection.inner, 1));
  selection.shape = joined(joined(Shape(outer), rows.shape()), Shape(inner));
  selection.positions = reshape(rows, Shape{rows.numel()});
  return selection;
}

/// Indexing without index tensors: only ranges and single positions, as views where possible.
Tensor basic_index(const Tensor& x, const std::vector<Entry>& entries) {
  Tensor y = x;
  int64_t axis = 0;
  for (const Entry& entry : entries) {
    if (entry.added) {
      y = unsqueeze(y, axis++);
    } else if (entry.dropped) {
      y = select(y, axis, entry.start);
    } else {
      if (!entry.whole())
        y = slice(y, axis, {.start = entry.start, .end = entry.start + entry.count * entry.step, .step = entry.step});
      ++axis;
    }
  }
  return y.is(x) ? alias(x) : y;  // hooks of the result are not those of x
}

}  // namespace

Tensor index(const Tensor& x, const IndexItems& items) {
  const ItemResolver resolved("index", x, items);
  if (!has_index_tensors(resolved.entries)) return basic_index(x, resolved.entries);
  const Selection selection = select_rows("index", x.device(), resolved);
  const Tensor rows = reshape(x, Shape{selection.outer, selection.rows, selection.inner});
  return reshape(index_select(rows, 1, selection.positions), selection.shape);
}

Tensor index_put(const Tensor& x, const IndexItems& items, const Tensor& values, const IndexPutOptions& options) {
  check_same_dtype("index_put", x, values);
  const Selection selection = select_rows("index_put", x.device(), ItemResolver("index_put", x, items));
  if (!broadcasts_to(values.shape(), selection.shape))
    raise(ErrorKind::shape, "index_put: the values {} do not broadcast to {}", to_string(values.shape()),
          to_string(selection.shape));
  const Tensor all = values.shape() == selection.shape ? values : expand_to(values, selection.shape);
  const Tensor rows = reshape(x, Shape{selection.outer, selection.rows, selection.inner});
  const Tensor source = reshape(all, Shape{selection.outer, selection.positions.numel(), selection.inner});
  const Tensor y = options.accumulate ? index_add(rows, 1, selection.positions, source)
                                      : index_copy(rows, 1, selection.positions, source);
  return reshape(y, x.shape());
}

}  // namespace tape
