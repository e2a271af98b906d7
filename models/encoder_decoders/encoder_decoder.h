#pragma once

#include "../../nn/embedding/embedding.h"
#include "../../nn/position/positional_encoding.h"
#include "../../nn/transformer/decoder.h"
#include "../decoding/search_defaults.h"

namespace tape::models {

/// What an encoder-decoder model is made of.
struct EncoderDecoderOptions {
  int64_t src_vocab = 0;
  int64_t tgt_vocab = 0;
  int64_t layers = 0;  ///< of the encoder
  int64_t decoder_layers = 0;
  nn::TransformerLayerOptions encoder = {};  ///< of its layers
  nn::TransformerLayerOptions decoder = {};
  std::optional<nn::PositionalEncodingOptions> sinusoids = {};  ///< added to what both stacks read
  /// Sinusoids only: padding has no position and is not counted, as in fairseq's models.
  bool positions_skip_padding = false;
  std::optional<nn::LearnedPositionalEncodingOptions> learned_positions = {};  ///< likewise, a table for each stack
  std::optional<int64_t> max_length = {};         ///< positions of those tables; without them any
  std::optional<double> embedding_norm_eps = {};  ///< LayerNorm over tokens plus positions; else none
  double embedding_scale = 1;                     ///< of the tokens' rows
  double dropout = 0;                             ///< of what the stacks read
  bool dropout_behind = false;                    ///< and of what they give, as T5's
  double output_scale = 1;                        ///< of the hidden state that says the next token
  bool share_embeddings = false;                  ///< one table for source and target
  bool tie_output = false;                        ///< the output's matrix is the target's table
  bool output_bias = true;
  bool freeze_padding = true;              ///< the padding's rows are zero and not trained
  int64_t padding_id = 0;                  ///< hidden in source and target
  int64_t bos_id = 1;                      ///< begins a target
  int64_t eos_id = 2;                      ///< ends it
  std::optional<int64_t> forced_bos = {};  ///< what every target says first, as BART's <s>
  bool begins_with_last = false;           ///< a target that is learned from begins with its own last token, as mBART's
};

/// An encoder-decoder model: token ids of a source and of a target to the scores of every next token of the target.
/// Transformer, Bart and T5 say what theirs are made of; whoever translates with, generates from or shows such a model
/// takes this class.
class EncoderDecoder : public nn::Layer<EncoderDecoder> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit EncoderDecoder(const EncoderDecoderOptions& options);

  /// src [B, S] and tgt [B, T] (i64) -> logits [B, T, tgt_vocab]; position t sees target tokens 0 .. t and the source,
  /// but no padding (source_mask() and target_mask() of autograd/mask.h). Error (shape) for ids of another form, more
  /// than max_length of them, or batches that differ; (index) for an id outside its vocabulary.
  Tensor forward(const Tensor& src, const Tensor& tgt);
  /// With masks of the caller's: what of the source is hidden from all, what of the target from later positions.
  Tensor forward(const Tensor& src, const Tensor& tgt, const Mask& src_mask, const Mask& tgt_mask);

  /// cross_entropy() of forward() and `target` [B, T], what follows each token of tgt: a single number, or [B, T] with
  /// Reduction::none. Logits that are large are never whole (linear_cross_entropy()), and hooks of `output` see the
  /// loss.
  Tensor loss(const Tensor& src, const Tensor& tgt, const Tensor& target, const CrossEntropyOptions& options = {});

  /// src [B, S] -> memory [B, S, C].
  Tensor encode(const Tensor& src);
  Tensor encode(const Tensor& src, const Mask& src_mask);
  /// Logits of all target positions, given the memory of `src`.
  Tensor decode(const Tensor& tgt, const Tensor& memory, const Tensor& src);
  Tensor decode(const Tensor& tgt, const Tensor& memory, const Mask& src_mask, const Mask& tgt_mask);
  /// Logits [B, T, V] of the next target tokens [B, T], the earlier ones being in the cache (from decoder->init_cache).
  Tensor decode_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src);
  /// Of decode_cached()'s logits at the last of the next tokens, which need not all be made (linear_max(),
  /// linear_top_k()): the largest, and its token [B, 1], or keep_top_k(). Padding is never a word: chosen, it would be
  /// hidden from the positions behind it. `words`: of so many ids alone; 0: of all.
  TopK likeliest_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, int64_t words = 0);
  Tensor top_k_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, int64_t k, int64_t words = 0);
  /// The same of logits [B, V].
  TopK likeliest(const Tensor& logits, int64_t words = 0) const;
  /// Logits [B, V], -inf for padding.
  Tensor without_padding(const Tensor& logits) const;

  const EncoderDecoderOptions& options() const { return options_; }
  SearchDefaults search = {};  ///< as the folder says it, and as save() writes it
  /// Positions of source and target at most; without a table of them there are as many as memory holds.
  std::optional<int64_t> max_length() const { return options_.max_length; }
  std::string settings() const override;

  nn::Child<nn::Embedding> src_embedding, tgt_embedding;
  std::unique_ptr<nn::Child<nn::PositionalEncoding>> positions;                            ///< null without sinusoids
  std::unique_ptr<nn::Child<nn::LearnedPositionalEncoding>> src_positions, tgt_positions;  ///< null unless learned
  std::unique_ptr<nn::Child<nn::LayerNorm>> src_norm, tgt_norm;  ///< of the embeddings, if any
  nn::Child<nn::Dropout> dropout;
  nn::Child<nn::Encoder> encoder;
  nn::Child<nn::Decoder> decoder;
  nn::Child<nn::Linear> output;

 private:
  enum class Side { source, target };
  /// dropout(norm(scale * token + position)), of what there is.
  Tensor read(Side side, const Tensor& ids, int64_t first);
  /// x plus the sinusoids of the ids' positions.
  Tensor with_sinusoids(const Tensor& x, const Tensor& ids, int64_t first);
  /// What a stack gave, ready to be attended to, or to say the next token.
  Tensor given(const Tensor& hidden);
  void check_pair(const Tensor& src, const Tensor& tgt) const;
  /// What the decoder gave, as the output reads it.
  Tensor ready(const Tensor& hidden);
  Tensor logits(const Tensor& hidden);
  /// What the decoder gives for the next tokens.
  Tensor decoded_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src);
  bool any_is_padding(const Tensor& tokens) const;
  /// What the decoder gives for each target position.
  Tensor decoded(const Tensor& tgt, const Tensor& memory, const Mask& src_mask, const Mask& tgt_mask);

  EncoderDecoderOptions options_;
};

}  // namespace tape::models
