#include "nn/key_value_cache.h"

#include <algorithm>
#include <cstring>

#include "autograd/create.h"
#include "autograd/kernels/threads.h"
#include "autograd/ops/index.h"
#include "autograd/ops/join.h"
#include "autograd/ops/shape.h"
#include "autograd/tape/tape.h"

namespace tape::nn {
namespace {

constexpr int64_t kLeastRoom = 16;

/// Writes positions [length, length + T) of a buffer, which is made anew where it has no room or others see it.
void write_behind(Tensor& buffer, int64_t length, const Tensor& next) {
  const int64_t needed = length + next.size(1);
  if (needed > buffer.size(1) || buffer.is_shared()) {
    Tensor larger = empty(buffer.shape().with(1, std::max({needed, 2 * length, kLeastRoom})), buffer.dtype());
    put_slice_(larger, 1, 0, slice(buffer, 1, {.end = length}));
    buffer = larger;
  }
  put_slice_(buffer, 1, length, next);
}

constexpr int64_t kAside = -1;

struct RowCopy {
  int64_t to, from;
};

/// Copies that make each row i what row rows[i] was, none written before all have read it. Rows that stay where they
/// are have none. Where rows change places in a circle, one of them is put aside first, in the row kAside.
std::vector<RowCopy> copies_in_place(std::vector<int64_t> rows) {
  const auto at = [](auto& list, int64_t row) -> auto& { return list[static_cast<size_t>(row)]; };
  const int64_t count = std::ssize(rows);
  std::vector<int64_t> readers(rows.size(), 0), free;
  for (int64_t row = 0; row < count; ++row)
    if (at(rows, row) != row) ++at(readers, at(rows, row));
  for (int64_t row = 0; row < count; ++row)
    if (at(rows, row) != row && at(readers, row) == 0) free.push_back(row);
  std::vector<RowCopy> copies;
  const auto write_free_rows = [&] {
    while (!free.empty()) {
      const int64_t row = free.back(), from = at(rows, row);
      free.pop_back();
      copies.push_back({row, from});
      at(rows, row) = row;  // done
      if (from != kAside && --at(readers, from) == 0 && at(rows, from) != from) free.push_back(from);
    }
  };
  write_free_rows();
  for (int64_t row = 0; row < count; ++row) {
    if (at(rows, row) == row) continue;
    // A circle: all that is left is read once.
    copies.push_back({kAside, row});
    *std::find(rows.begin(), rows.end(), row) = kAside;
    at(readers, row) = 0;
    free.push_back(row);
    write_free_rows();
  }
  return copies;
}

/// Where each row of a buffer begins, and how many bytes its first `length` positions are.
class RowBytes {
 public:
  RowBytes(const Tensor& buffer, int64_t length)
      : first_(static_cast<char*>(buffer.raw())),
        stride_(static_cast<size_t>(buffer.shape().with(0, 1).numel() * size_of(buffer.dtype()))),
        size_(static_cast<size_t>(buffer.shape().with(0, 1).with(1, length).numel() * size_of(buffer.dtype()))) {}
  char* operator[](int64_t row) const { return first_ + static_cast<size_t>(row) * stride_; }
  size_t size() const { return size_; }

 private:
  char* first_;
  size_t stride_, size_;
};

/// Copies of rows, the same bytes of each row in their order. Threads share what is worth it, each some bytes of all
/// rows.
void copy_rows(const std::vector<RowCopy>& copies, const RowBytes& to, const RowBytes& from) {
  constexpr size_t kWorthAThread = 1 << 17;
  const size_t threads = static_cast<size_t>(kernels::num_threads()), size = from.size(),
               parts = std::clamp<size_t>(copies.size() * size / kWorthAThread, 1, threads);
  kernels::run_tasks(static_cast<int64_t>(parts), [&](int64_t task) {
    const size_t part = static_cast<size_t>(task), first = size * part / parts,
                 count = size * (part + 1) / parts - first;
    if (count == 0) return;
    std::vector<char> aside;
    for (const RowCopy& copy : copies) {
      if (copy.to == kAside) aside.resize(count);
      std::memcpy(copy.to == kAside ? aside.data() : to[copy.to] + first,
                  copy.from == kAside ? aside.data() : from[copy.from] + first, count);
    }
  });
}

/// Row i of a buffer becomes what row rows[i] is, in the buffer itself where nobody else sees it.
void select_rows(Tensor& buffer, int64_t length, const std::vector<int64_t>& rows) {
  const RowBytes old(buffer, length);
  if (std::ssize(rows) == buffer.size(0) && !buffer.is_shared()) {
    buffer.impl().storage->bump_version();
    return copy_rows(copies_in_place(rows), old, old);
  }
  Tensor selected = empty(buffer.shape().with(0, std::ssize(rows)), buffer.dtype());
  std::vector<RowCopy> all;
  all.reserve(rows.size());
  for (const int64_t from : rows) all.push_back({std::ssize(all), from});
  copy_rows(all, RowBytes(selected, length), old);
  buffer = selected;
}

}  // namespace

KeyValueCache::KeyValueCache(Tensor keys, Tensor values)
    : key(std::move(keys)), value(std::move(values)), held_(key.size(1)) {}

void KeyValueCache::append(const Tensor& next_key, const Tensor& next_value) {
  if (!key.defined()) {
    *this = {next_key, next_value};
    return;
  }
  if (needs_record({key, value, next_key, next_value})) {
    key = cat({slice(key, 1, {.end = held_}), next_key}, 1);
    value = cat({slice(value, 1, {.end = held_}), next_value}, 1);
  } else {
    write_behind(key, held_, next_key);
    write_behind(value, held_, next_value);
  }
  held_ += next_key.size(1);
}

void KeyValueCache::forget_before(int64_t count) {
  const int64_t gone = held_ - count;
  if (gone < std::max(count, kLeastRoom)) return;
  // What stays is copied, and the room behind it is gone: append() makes it anew.
  const SliceOptions last{.start = gone, .end = held_};
  key = slice(key, 1, last), value = slice(value, 1, last);
  held_ = count, forgotten_ += gone;
}

void KeyValueCache::select(const Tensor& rows) {
  if (!key.defined()) return;
  if (needs_record({key, value})) {
    key = index_select(slice(key, 1, {.end = held_}), 0, rows);
    value = index_select(slice(value, 1, {.end = held_}), 0, rows);
    return;
  }
  const std::vector<int64_t> chosen = rows.to_vector<int64_t>();
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i] < 0 || chosen[i] >= key.size(0))
      raise(ErrorKind::index, "KeyValueCache::select: row {} at position {} is outside [0, {})", chosen[i], i,
            key.size(0));
  select_rows(key, held_, chosen);
  select_rows(value, held_, chosen);
}

}  // namespace tape::nn
