#pragma once

#include <concepts>
#include <optional>

#include "tensor.h"

namespace tape {

/// Which keys each query may attend to. Named constructors make the polarity explicit; `&` combines masks:
///   Mask::causal() & Mask::padding(ids, 0)
/// Masks broadcast to the scores [B, H, Tq, Tk]. A query with no visible key has output 0 and gradient 0.
class Mask {
 public:
  /// Hides nothing.
  Mask() = default;
  template <std::same_as<Tensor> T>
  Mask(const T&) = delete;  // use Mask::keep(t), Mask::additive(t) or Mask::padding(ids, padding_id)
  /// Query i sees keys 0 .. i + offset. With n earlier keys in a cache, pass offset n.
  static Mask causal(int64_t offset = 0);
  /// Sliding window: query i sees keys i + offset - left .. i + offset + right. Mistral's window of W keys, which
  /// includes the query's own, is window(W - 1, 0) and is causal; a symmetric window of W / 2 keys on each side is
  /// window(W / 2, W / 2).
  static Mask window(int64_t left, int64_t right, int64_t offset = 0);
  /// Hides the keys whose id is the padding id. ids: [B, Tk] or [Tk], i64.
  static Mask padding(const Tensor& ids, int64_t padding_id);
  /// true keeps a key, false hides it. bool, broadcast to [B, H, Tq, Tk].
  static Mask keep(const Tensor& keep);
  /// A bias added to the scaled scores before the softmax. Floating, broadcast to [B, H, Tq, Tk]; may require
  /// gradients.
  static Mask additive(const Tensor& scores);

  /// Keeps a key only if both masks keep it. Biases add up; causal masks and windows combine to the narrower bounds.
  friend Mask operator&(const Mask& a, const Mask& b);

  /// Whether the mask hides nothing and has no bias.
  bool empty() const { return !causal_ && !first_ && !keep_mask_.defined() && !bias_.defined(); }
  /// Query i sees no key after i + causal_offset() and none before i + first_offset(), where these are set.
  /// @{
  std::optional<int64_t> causal_offset() const { return causal_; }
  std::optional<int64_t> first_offset() const { return first_; }
  /// @}
  const Tensor& keep_mask() const { return keep_mask_; }  ///< undefined if no bool mask is set
  const Tensor& bias() const { return bias_; }            ///< undefined if no bias is set
  /// This mask with `scores` as its bias().
  Mask with_bias(const Tensor& scores) const;
  /// Only the causal part and the window.
  Mask structure() const;
  /// This mask for the keys from `first` on, after a cache has dropped the earlier ones.
  Mask slice_keys(int64_t first) const;
  /// The causal part, the window and keep_mask() as one bool tensor that broadcasts to [B, H, query_length,
  /// key_length].
  Tensor to_tensor(int64_t query_length, int64_t key_length, Device device = cpu) const;

 private:
  std::optional<int64_t> causal_, first_;
  Tensor keep_mask_, bias_;
};

/// Padding mask of an encoder input: ids [B, S] (i64) -> [B, 1, 1, S].
Mask source_mask(const Tensor& ids, int64_t padding_id);
/// Padding and causal mask of a decoder input: ids [B, T] (i64) -> [B, 1, T, T]. The first position is never hidden,
/// since some models (Marian) start decoding with their padding id.
Mask target_mask(const Tensor& ids, int64_t padding_id);

}  // namespace tape
