#include "autograd/ops/attention_check.h"

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/check.h"
#include "autograd/ops/shape.h"

namespace tape::detail {

void check_operands(const Tensor& query, const Tensor& key, const Tensor& value) {
  constexpr const char* name = "scaled_dot_product_attention";
  check_same_dtype(name, query, key);
  check_same_dtype(name, query, value);
  const auto shapes = [&] {
    return fmt::format("query {}, key {}, value {}", to_string(query.shape()), to_string(key.shape()),
                       to_string(value.shape()));
  };
  const int64_t rank = query.rank();
  if (rank < 2 || key.rank() != rank || value.rank() != rank)
    raise(ErrorKind::shape, "{}: needs operands of one rank, at least 2: {}", name, shapes());
  if (query.size(-1) != key.size(-1))
    raise(ErrorKind::shape, "{}: query and key widths differ: {} ({} vs {})", name, shapes(), query.size(-1),
          key.size(-1));
  if (key.size(-2) != value.size(-2))
    raise(ErrorKind::shape, "{}: key and value lengths differ: {} ({} vs {})", name, shapes(), key.size(-2),
          value.size(-2));
  const Shape lead = query.shape().slice(0, rank - 2);
  if (!(lead == key.shape().slice(0, rank - 2)) || !(lead == value.shape().slice(0, rank - 2)))
    raise(ErrorKind::shape, "{}: leading axes differ: {}", name, shapes());
}

void check_key_length(const char* name, const AttentionOptions& options, const Tensor& key) {
  const int64_t length = options.key_length.value_or(0);
  if (length < 0 || length > key.size(-2))
    raise(ErrorKind::config, "{}: key_length {} is outside [0, {}], the key is {}", name, length, key.size(-2),
          to_string(key.shape()));
}

Tensor attention_mask(const char* kind, const Tensor& mask, int64_t rank, const Shape& scores) {
  if (!mask.defined()) return mask;
  Tensor wide = mask;
  if (rank == 3 && mask.rank() == 3) wide = unsqueeze(mask, 1);  // [B, Tq, Tk]
  if (rank > 4 && mask.rank() > 2) {
    // Leading axes before the last were merged into one.
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
