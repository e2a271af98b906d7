#pragma once

#include <optional>
#include <vector>

#include "../../nn/embedding/embeddings.h"
#include "../../nn/transformer/encoder.h"
#include "../../nn/transformer/heads.h"
#include "../decoding/search_defaults.h"

namespace tape::models {

/// What a decoder-only model is made of.
struct CausalLMOptions {
  int64_t vocab = 0;
  int64_t d_model = 768;
  nn::EmbeddingsOptions embeddings = {};  ///< without a table of positions where the layers turn queries and keys
  std::vector<nn::TransformerLayerOptions> layers = {};  ///< from the first to the last
  nn::TokenOutput output = nn::TokenOutput::logits;
  bool tie_output = false;             ///< the output's matrix is the token table
  std::optional<int64_t> bos_id = {};  ///< the token that begins a text, if there is one
  std::vector<int64_t> eos_ids = {};   ///< the tokens that end it
  /// Deviation of the first weights; of projections into the residual sum, two a layer, smaller by sqrt(2 layers),
  /// which keeps the variance of the sum (Radford et al. 2019, 2.3).
  double init_std = 0.02;
};

/// A decoder-only model: embeddings, a stack of layers of which each position sees the past alone, and the scores of
/// every next token, ids [B, T] to logits [B, T, V]. Gpt, Llama and GptNeoX say what theirs are made of; whoever reads,
/// generates from or shows such a model takes this class.
class CausalLM : public nn::Layer<CausalLM> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit CausalLM(const CausalLMOptions& options);

  /// ids [B, T] (i64) -> logits [B, T, V]; position t sees tokens 0 .. t, fewer where `mask` hides some or the layers
  /// look through a window. Error (shape) for ids that are not [B, T] or more than max_length(), (index) for an id
  /// outside the vocabulary, (dtype) unless i64.
  Tensor forward(const Tensor& ids, const Mask& mask = {});
  /// The same where each id has a position of its own (i64, [B, T]): rows that hold several texts, each from position 0
  /// on, which `mask` must keep apart (Mask::keep of [B, 1, T, T]). Error (index) besides for a position outside.
  Tensor at(const Tensor& ids, const Tensor& positions, const Mask& mask = {});
  /// cross_entropy() of forward() or at() and `target` [B, T], what follows each id: a single number, or [B, T] with
  /// Reduction::none. Logits that are large are never whole (linear_cross_entropy()), and hooks of `output` see the
  /// loss.
  Tensor loss(const Tensor& ids, const Tensor& target, const CrossEntropyOptions& options = {}, const Mask& mask = {});
  Tensor loss_at(const Tensor& ids, const Tensor& positions, const Tensor& target,
                 const CrossEntropyOptions& options = {}, const Mask& mask = {});
  /// Logits of the next ids [B, T], the earlier ones being in the cache (from encoder->init_cache()).
  Tensor forward_cached(const Tensor& ids, nn::EncoderCache& cache, const Mask& mask = {});
  /// Logits [B, V] of what follows the last of the next ids [B, T] alone. Each id has its position (i64, [B, T]), for
  /// texts with padding in front begin later in the cache; `mask` must hide the padding.
  Tensor next_logits(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask = {});
  /// max_with_index() of next_logits() [B, 1], and keep_top_k() of them: large scores need not all be made
  /// (linear_max(), linear_top_k()). `words`: of so many ids alone; 0: of all.
  TopK next_likeliest(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask = {},
                      int64_t words = 0);
  Tensor next_top_k(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, int64_t k,
                    const Mask& mask = {}, int64_t words = 0);

  const CausalLMOptions& options() const { return options_; }
  int64_t vocab() const { return options_.vocab; }
  /// Positions of the table; without one there are as many as memory holds.
  std::optional<int64_t> max_length() const;
  std::string settings() const override;

  nn::Child<nn::Embeddings> embeddings;
  nn::Child<nn::Encoder> encoder;
  nn::Child<nn::NextTokenHead> output;
  /// How the model's folder wants text generated; of it generate() follows no_repeat_ngram and min_length.
  SearchDefaults search = {};

 private:
  Tensor hidden(const Tensor& ids, const Mask& mask);
  Tensor hidden_at(const Tensor& ids, const Tensor& positions, const Mask& mask);
  /// [B, C], what says the token that follows the last of the next ones.
  Tensor next_hidden(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask);

  CausalLMOptions options_;
};

}  // namespace tape::models
