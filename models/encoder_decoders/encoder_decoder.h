#pragma once

#include "../../nn/embedding/embedding.h"
#include "../../nn/position/positional_encoding.h"
#include "../../nn/transformer/decoder.h"
#include "../decoding/search_defaults.h"

namespace tape::models {

/// Architecture of an encoder-decoder model.
struct EncoderDecoderOptions {
  int64_t src_vocab = 0;                                        ///< number of source tokens
  int64_t tgt_vocab = 0;                                        ///< number of target tokens
  int64_t layers = 0;                                           ///< of the encoder
  int64_t decoder_layers = 0;                                   ///< of the decoder
  nn::TransformerLayerOptions encoder = {};                     ///< of its layers
  nn::TransformerLayerOptions decoder = {};                     ///< of its layers
  std::optional<nn::PositionalEncodingOptions> sinusoids = {};  ///< added to the input of both stacks
  /// Sinusoids only: padding gets no position and is not counted, as in fairseq's models.
  bool positions_skip_padding = false;
  std::optional<nn::LearnedPositionalEncodingOptions> learned_positions = {};  ///< the same, one table per stack
  std::optional<int64_t> max_length = {};         ///< size of those tables; unlimited without them
  std::optional<double> embedding_norm_eps = {};  ///< LayerNorm over tokens plus positions; default: none
  double embedding_scale = 1;                     ///< factor of the token embeddings
  double dropout = 0;                             ///< of the stacks' inputs
  bool output_dropout = false;                    ///< also of the stacks' outputs, as in T5
  double output_scale = 1;                        ///< factor of the last hidden state before the output layer
  bool share_embeddings = false;                  ///< one table for source and target
  bool tie_output = false;                        ///< whether the output matrix is the target's table
  bool output_bias = true;                        ///< whether the output layer has a bias [tgt_vocab]
  bool freeze_padding = true;                     ///< whether padding rows are zero and not trained
  int64_t padding_id = 0;                         ///< masked in source and target
  int64_t bos_id = 1;                             ///< starts a target
  int64_t eos_id = 2;                             ///< ends a target
  std::optional<int64_t> forced_bos = {};         ///< first token of every target, such as BART's `<s>`
  bool wraps_last_token = false;                  ///< whether a training target starts with its own last token (mBART)
};

/// An encoder-decoder model: token ids of a source and a target to the scores of every next target token. Transformer,
/// Bart and T5 fill in its options; code that translates with, generates from or displays such models takes this class.
class EncoderDecoder : public nn::Layer<EncoderDecoder> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit EncoderDecoder(const EncoderDecoderOptions& options);

  /// src [B, S] and tgt [B, T] (i64) -> logits [B, T, tgt_vocab]. Position t sees target tokens 0 .. t and the source,
  /// but no padding (source_mask() and target_mask() of autograd/mask.h). Throws Error (shape) if ids have another
  /// form, are longer than max_length or differ in batch size; (index) for an id outside its vocabulary.
  Tensor forward(const Tensor& src, const Tensor& tgt);
  /// forward() with the caller's masks of the source and of the target; the causal mask is always applied.
  Tensor forward(const Tensor& src, const Tensor& tgt, const Mask& src_mask, const Mask& tgt_mask);

  /// cross_entropy() of forward() with `target` [B, T], the token that follows each one of tgt. Returns a scalar, or
  /// [B, T] with Reduction::none. Large logits are never materialized in full (linear_cross_entropy()), and hooks of
  /// `output` see the loss.
  Tensor loss(const Tensor& src, const Tensor& tgt, const Tensor& target, const CrossEntropyOptions& options = {});

  /// src [B, S] -> memory [B, S, C].
  Tensor encode(const Tensor& src);
  /// encode() with the caller's mask of the source.
  Tensor encode(const Tensor& src, const Mask& src_mask);
  /// Logits at all target positions, given the memory of `src`.
  Tensor decode(const Tensor& tgt, const Tensor& memory, const Tensor& src);
  /// decode() with the caller's masks; the causal mask is always applied.
  Tensor decode(const Tensor& tgt, const Tensor& memory, const Mask& src_mask, const Mask& tgt_mask);
  /// Logits [B, T, V] of the next target tokens [B, T], given the earlier ones in the cache (decoder->init_cache()).
  /// `padded`: whether there may be padding among them, which a GPU waits for if positions skip it.
  Tensor decode_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, bool padded = true);
  /// The largest of decode_cached()'s logits at the last of the next tokens and its token [B, 1], or keep_top_k() of
  /// them, without computing all of them (linear_max(), linear_top_k()). Padding is excluded: later positions would not
  /// see it. `words` limits the choice to the first so many ids; 0: all.
  /// @{
  TopK likeliest_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, int64_t words = 0);
  Tensor top_k_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, int64_t k, int64_t words = 0);
  /// @}
  /// The same from logits [B, V].
  TopK likeliest(const Tensor& logits, int64_t words = 0) const;
  /// Logits [B, V], -inf for padding.
  Tensor without_padding(const Tensor& logits) const;

  /// The options given to the constructor.
  const EncoderDecoderOptions& options() const { return options_; }
  SearchDefaults search = {};  ///< from the model's folder; written by save()
  /// Size of the position tables, the limit of source and target; without one, only memory limits the length.
  std::optional<int64_t> max_length() const { return options_.max_length; }
  /// "32000 -> 32000 words, width 512"
  std::string settings() const override;

  nn::Child<nn::Embedding> src_embedding,                        ///< source ids [B, S] to [B, S, C]
      tgt_embedding;                                             ///< target ids [B, T] to [B, T, C]
  std::unique_ptr<nn::Child<nn::PositionalEncoding>> positions;  ///< null without sinusoids
  /// Tables of the stacks; null unless the positions are learned.
  /// @{
  std::unique_ptr<nn::Child<nn::LearnedPositionalEncoding>> src_positions, tgt_positions;
  /// @}
  /// LayerNorms of the embeddings; null without embedding_norm_eps.
  /// @{
  std::unique_ptr<nn::Child<nn::LayerNorm>> src_norm, tgt_norm;
  /// @}
  nn::Child<nn::Dropout> dropout;  ///< of the stacks' inputs, and of their outputs with output_dropout
  nn::Child<nn::Encoder> encoder;  ///< source [B, S, C] to memory [B, S, C]
  nn::Child<nn::Decoder> decoder;  ///< target [B, T, C] and memory to [B, T, C]
  nn::Child<nn::Linear> output;    ///< hidden states [B, T, C] to logits [B, T, tgt_vocab]

 private:
  enum class Side { source, target };
  /// dropout(norm(scale * token + position)), as far as these exist.
  Tensor read(Side side, const Tensor& ids, int64_t first, bool padded = true);
  /// x plus the sinusoids of the ids' positions.
  Tensor with_sinusoids(const Tensor& x, const Tensor& ids, int64_t first, bool padded);
  /// Applies the dropout after a stack, if any.
  Tensor given(const Tensor& hidden);
  void check_pair(const Tensor& src, const Tensor& tgt) const;
  /// The decoder's output, dropped out and scaled for the output layer.
  Tensor ready(const Tensor& hidden);
  Tensor logits(const Tensor& hidden);
  /// The decoder's output for the next tokens.
  Tensor decoded_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, bool padded = true);
  bool any_is_padding(const Tensor& tokens) const;
  /// The decoder's output for each target position.
  Tensor decoded(const Tensor& tgt, const Tensor& memory, const Mask& src_mask, const Mask& tgt_mask);

  EncoderDecoderOptions options_;
};

}  // namespace tape::models
