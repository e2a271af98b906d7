#include "autograd/ops/attention/attention_check.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/shape/shape.h"

namespace tape::detail {

namespace {

constexpr const char* kAttention = "scaled_dot_product_attention";

std::string shapes(const Tensor& query, const Tensor& key, const Tensor& value) {
  return fmt::format("query {}, key {}, value {}", to_string(query.shape()), to_string(key.shape()),
                     to_string(value.shape()));
}

void check_ranks_and_lengths(const Tensor& query, const Tensor& key, const Tensor& value) {
  check_same_dtype(kAttention, query, key);
  check_same_dtype(kAttention, query, value);
  if (query.rank() < 2 || key.rank() != query.rank() || value.rank() != query.rank())
    raise(ErrorKind::shape, "{}: operands need equal ranks of at least 2: {}", kAttention, shapes(query, key, value));
  if (key.size(-2) != value.size(-2))
    raise(ErrorKind::shape, "{}: key and value lengths differ: {} ({} vs {})", kAttention, shapes(query, key, value),
          key.size(-2), value.size(-2));
}

void check_widths(const Tensor& query, const Tensor& key, const Tensor& value) {
  if (query.size(-1) != key.size(-1))
    raise(ErrorKind::shape, "{}: query and key widths differ: {} ({} vs {})", kAttention, shapes(query, key, value),
          query.size(-1), key.size(-1));
}

}  // namespace

void check_operands(const Tensor& query, const Tensor& key, const Tensor& value, bool grouped) {
  check_ranks_and_lengths(query, key, value);
  check_widths(query, key, value);
  const int64_t rank = query.rank(), outer = grouped ? rank - 3 : rank - 2;
  if (grouped && rank < 4)
    raise(ErrorKind::shape, "{}: enable_gqa needs [..., H, T, D]: {}", kAttention, shapes(query, key, value));
  const Shape lead = query.shape().slice(0, outer);
  if (!(lead == key.shape().slice(0, outer)) || !(lead == value.shape().slice(0, outer)) ||
      (grouped && key.size(-3) != value.size(-3)))
    raise(ErrorKind::shape, "{}: leading axes differ: {}", kAttention, shapes(query, key, value));
  if (grouped && (key.size(-3) < 1 || query.size(-3) < 1 || query.size(-3) % key.size(-3) != 0))
    raise(ErrorKind::shape, "{}: {} query heads are not a multiple of {} key heads: {}", kAttention, query.size(-3),
          key.size(-3), shapes(query, key, value));
}

int64_t check_packed_heads(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                           const PackedHeadsCheck& may) {
  const bool grouped = may.grouped;
  check_ranks_and_lengths(query, key, value);
  if (query.rank() != 3)
    raise(ErrorKind::shape, "multi_head_attention: query must be [B, T, H D], got {}", to_string(query.shape()));
  if (!grouped) check_widths(query, key, value);
  if (key.size(0) != value.size(0) || (query.size(0) != key.size(0) && !may.any_rows))
    raise(ErrorKind::shape, "{}: leading axes differ: {}", kAttention, shapes(query, key, value));
  if (heads < 1 || query.size(-1) % heads != 0 || (!grouped && value.size(-1) % heads != 0))
    raise(ErrorKind::config, "multi_head_attention: widths {} and {} are not divisible by heads {}", query.size(-1),
          value.size(-1), heads);
  if (!grouped) return heads;
  const int64_t width = query.size(-1) / heads, of_keys = width > 0 ? key.size(-1) / width : 0;
  if (of_keys < 1 || of_keys * width != key.size(-1) || heads % of_keys != 0 || value.size(-1) % of_keys != 0)
    raise(ErrorKind::config, "multi_head_attention: {} heads of width {} do not fit key and value: {}", heads, width,
          shapes(query, key, value));
  return of_keys;
}

void check_additive_dtype(const Tensor& query, const Tensor& additive) {
  if (additive.dtype() != compute_dtype(query.dtype())) check_same_dtype(kAttention, query, additive);
}

KvCacheView checked_cache(const KvCacheView& cached, int64_t batch) {
  const int64_t length = cached.length, count = cached.key.size(0);
  if (length < 0 || length > cached.key.size(1))
    raise(ErrorKind::config, "multi_head_attention: the cached length {} is outside [0, {}], the key is {}", length,
          cached.key.size(1), to_string(cached.key.shape()));
  const Tensor& rows = cached.rows;
  if (!rows.defined()) return cached;
  if (rows.dtype() != i64)
    raise(ErrorKind::dtype, "multi_head_attention: cache rows must be i64, got {}", to_string(rows.dtype()));
  if (rows.rank() != 2 || rows.size(0) != batch || rows.size(1) < length)
    raise(ErrorKind::shape, "multi_head_attention: cache rows {} must be [{}, at least {}]", to_string(rows.shape()),
          batch, length);
  const ValueCheck inside = {ErrorKind::index, [=](int64_t position, int64_t value) {
                               return fmt::format("multi_head_attention: cache rows[{}, {}] is {}, outside [0, {})",
                                                  position / length, position % length, value, count);
                             }};
  const kernels::IndexRange range = {.lines = batch, .count = length, .stride = rows.size(1), .low = 0, .size = count};
  KvCacheView checked = cached;
  const bool waits = reading_waits(rows.device());
  if (waits) checked.rows = empty({batch, length}, rows.options());
  run_kernels("multi_head_attention", rows.device(), [&](const KernelCall& at) {
    int64_t* const kept = waits ? at.out<int64_t>(checked.rows) : nullptr;
    at.check(inside, [&](int64_t number, kernels::Finding* finding) {
      kernels::take(at).check_index(range, at.in<int64_t>(rows), kept, number, finding);
    });
  });
  return checked;
}

Tensor attention_mask(const char* kind, const Tensor& mask, int64_t rank, const Shape& scores) {
  if (!mask.defined()) return mask;
  Tensor wide = mask;
  if (rank == 3 && mask.rank() == 3) wide = unsqueeze(mask, 1);  // [B, Tq, Tk]
  if (rank > 4 && mask.rank() > 2) {
    // The operands' leading axes before the last one were merged into one.
    const Shape own = mask.shape();
    if (own.rank() != rank)
      raise(ErrorKind::shape, "scaled_dot_product_attention: {} mask {} needs {} axes", kind, to_string(own), rank);
    wide = reshape(mask, Shape{own.slice(0, rank - 3).numel(), own[rank - 3], own[rank - 2], own[rank - 1]});
  }
  if (!broadcasts_to(wide.shape(), scores))
    raise(ErrorKind::shape, "scaled_dot_product_attention: {} mask {} does not broadcast to the scores {}", kind,
          to_string(mask.shape()), to_string(scores));
  return wide;
}

}  // namespace tape::detail
