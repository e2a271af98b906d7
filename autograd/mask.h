#pragma once

#include <concepts>
#include <optional>

#include "tensor.h"

namespace tape {

/// Which keys a query may see. Made by name, so that its polarity cannot be mistaken, and combined with `&`:
///   Mask::causal() & Mask::padding(ids, 0)
/// Masks broadcast to the scores [B, H, Tq, Tk]. A query that sees nothing gets zeros, and gives zero gradients.
class Mask {
 public:
  /// Hides nothing.
  Mask() = default;
  template <std::same_as<Tensor> T>
  Mask(const T&) = delete;  // write Mask::keep(t), Mask::additive(t) or Mask::padding(ids, padding_id)
  /// Query i sees keys 0 .. i + offset. With a cache of n earlier keys the offset is n.
  static Mask causal(int64_t offset = 0);
  /// A sliding window: query i sees keys i + offset - left .. i + offset + right. Mistral's of W keys, its own among
  /// them, is window(W - 1, 0), which is causal; one that reaches W / 2 to both sides is window(W / 2, W / 2).
  static Mask window(int64_t left, int64_t right, int64_t offset = 0);
  /// Hides the keys whose id is the padding id: ids [B, Tk] or [Tk], i64.
  static Mask padding(const Tensor& ids, int64_t padding_id);
  /// true keeps, false hides: bool, broadcast to [B, H, Tq, Tk].
  static Mask keep(const Tensor& keep);
  /// Added to the scaled scores before the softmax: f32 or f64, broadcast to [B, H, Tq, Tk]; may require gradients.
  static Mask additive(const Tensor& scores);

  /// What both let through; additive scores add up, causal masks and windows keep the stricter ends.
  friend Mask operator&(const Mask& a, const Mask& b);

  bool empty() const { return !causal_ && !first_ && !kept_.defined() && !added_.defined(); }
  /// Query i sees no key behind i + causal_offset(), and none in front of i + first_offset(), where they are given.
  std::optional<int64_t> causal_offset() const { return causal_; }
  std::optional<int64_t> first_offset() const { return first_; }
  const Tensor& keep_mask() const { return kept_; }  ///< undefined where no keys are named
  const Tensor& bias() const { return added_; }      ///< undefined where nothing is added
  /// This mask with `scores` as its bias().
  Mask with_bias(const Tensor& scores) const;
  /// The causal part and the window alone.
  Mask structure() const;
  /// This mask for the keys from `first` on, what keep_mask() and bias() say of those in front cut away: keys that a
  /// cache has dropped.
  Mask from_key(int64_t first) const;
  /// The causal part, the window and keep_mask() as one bool tensor that broadcasts to [B, H, query_length,
  /// key_length].
  Tensor to_tensor(int64_t query_length, int64_t key_length) const;

 private:
  std::optional<int64_t> causal_, first_;
  Tensor kept_, added_;
};

/// Hides the padding of a source: ids [B, S] (i64) -> [B, 1, 1, S].
Mask source_mask(const Tensor& ids, int64_t padding_id);
/// Hides the padding of a target and, from each position, the ones behind it: ids [B, T] (i64) -> [B, 1, T, T]. The
/// first position begins every target and is never hidden, for a model may begin them with its padding id (Marian's
/// do).
Mask target_mask(const Tensor& ids, int64_t padding_id);

}  // namespace tape
