#include "nn/key_value_cache.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/index.h"
#include "autograd/ops/join.h"
#include "autograd/ops/shape.h"
#include "autograd/tape/tape.h"

namespace tape::nn {
namespace {

/// Writes positions [length, length + T) of a buffer, which is made anew where it has no room or others see it.
void write_behind(Tensor& buffer, int64_t length, const Tensor& next) {
  constexpr int64_t kLeastRoom = 16;
  const int64_t needed = length + next.size(1);
  if (needed > buffer.size(1) || buffer.is_shared()) {
    Tensor larger = empty(buffer.shape().with(1, std::max({needed, 2 * length, kLeastRoom})), buffer.dtype());
    put_slice_(larger, 1, 0, slice(buffer, 1, {.end = length}));
    buffer = larger;
  }
  put_slice_(buffer, 1, length, next);
}

}  // namespace

KeyValueCache::KeyValueCache(Tensor keys, Tensor values)
    : key(std::move(keys)), value(std::move(values)), length_(key.size(1)) {}

void KeyValueCache::append(const Tensor& next_key, const Tensor& next_value) {
  if (!key.defined()) {
    *this = {next_key, next_value};
    return;
  }
  if (needs_record({key, value, next_key, next_value})) {
    key = cat({slice(key, 1, {.end = length_}), next_key}, 1);
    value = cat({slice(value, 1, {.end = length_}), next_value}, 1);
  } else {
    write_behind(key, length_, next_key);
    write_behind(value, length_, next_value);
  }
  length_ += next_key.size(1);
}

void KeyValueCache::select(const Tensor& rows) {
  if (!key.defined()) return;
  key = index_select(key, 0, rows);
  value = index_select(value, 0, rows);
}

}  // namespace tape::nn
