#include "nn/attention/key_value_cache.h"

#include <algorithm>
#include <numeric>

#include "autograd/create.h"
#include "autograd/ops/attention/heads.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"

namespace tape::nn {
namespace {

constexpr int64_t kMinCapacity = 16;

/// Writes positions [length, length + T) of a buffer, which is reallocated if it is too small or shared.
void append_rows(Tensor& buffer, int64_t length, const Tensor& next) {
  const int64_t needed = length + next.size(1);
  if (needed > buffer.size(1) || buffer.is_shared()) {
    Tensor larger = empty(buffer.shape().with(1, std::max({needed, 2 * length, kMinCapacity})), buffer.options());
    put_slice_(larger, 1, 0, slice(buffer, 1, {.end = length}));
    buffer = larger;
  }
  put_slice_(buffer, 1, length, next);
}

/// Returns the buffer row of each of `room` positions of the chosen sequences: for the first `size` positions, the row
/// that the chosen sequence has in `rows`, for the rest the sequence's own row.
Tensor rows_of(const std::vector<int64_t>& chosen, const Tensor& rows, int64_t size, int64_t room, Device device) {
  const int64_t count = std::ssize(chosen);
  const std::vector<int64_t> old = rows.defined() ? rows.to_vector<int64_t>() : std::vector<int64_t>();
  std::vector<int64_t> made(static_cast<size_t>(count * room));
  auto to = made.begin();
  for (int64_t i = 0; i < count; ++i, to += room) {
    const int64_t from = chosen[static_cast<size_t>(i)];
    if (rows.defined())
      std::copy_n(old.begin() + from * rows.size(1), size, to);
    else
      std::fill_n(to, size, from);
    std::fill_n(to + size, room - size, i);
  }
  return from_vector(made, {count, room}).to(device);
}

std::vector<int64_t> all_in_order(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

KeyValueCache::KeyValueCache(Tensor keys, Tensor values)
    : key(std::move(keys)), value(std::move(values)), size_(key.size(1)) {}

Tensor KeyValueCache::keys() const { return gather_kv(key, rows_, size_); }
Tensor KeyValueCache::values() const { return gather_kv(value, rows_, size_); }

void KeyValueCache::append(const Tensor& next_key, const Tensor& next_value) {
  if (!key.defined()) {
    *this = {next_key, next_value};
    return;
  }
  const int64_t size = size_ + next_key.size(1);
  if (needs_record({key, value, next_key, next_value})) {
    key = cat({keys(), next_key}, 1);
    value = cat({values(), next_value}, 1);
    rows_ = {};
  } else {
    append_rows(key, size_, next_key);
    append_rows(value, size_, next_value);
    if (rows_.defined() && rows_.size(1) < size)
      rows_ = rows_of(all_in_order(rows_.size(0)), rows_, size_, key.size(1), key.device());
  }
  size_ = size;
}

void KeyValueCache::evict_before(int64_t count) {
  const int64_t gone = size_ - count;
  if (gone < std::max(count, kMinCapacity)) return;
  // Only what stays is copied, without spare capacity: append() allocates it again.
  const SliceOptions last{.start = gone};
  key = slice(keys(), 1, last), value = slice(values(), 1, last);
  rows_ = {};
  size_ = count, evicted_ += gone;
}

void KeyValueCache::select(const Tensor& chosen) {
  if (!key.defined()) return;
  const std::vector<int64_t> of = chosen.to_vector<int64_t>();
  const int64_t count = key.size(0);
  for (size_t i = 0; i < of.size(); ++i)
    if (of[i] < 0 || of[i] >= count)
      raise(ErrorKind::index, "KeyValueCache::select: row {} at position {} is outside [0, {})", of[i], i, count);
  if (of == all_in_order(count)) return;
  rows_ = rows_of(of, rows_, size_, key.size(1), key.device());
  if (std::ssize(of) == count && !needs_record({key, value})) return;
  key = keys(), value = values();
  rows_ = {};
}

}  // namespace tape::nn
