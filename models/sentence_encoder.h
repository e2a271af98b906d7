#pragma once

#include <span>

#include "encoder_config.h"

namespace tape::models {

/// An encoder and how its positions become one vector.
struct SentenceEncoderConfig {
  EncoderConfig encoder = {};
  nn::Pooling pooling = nn::Pooling::mean;
  bool normalize = true;  ///< to length 1, so that products of vectors are cosines
};

/// An encoder, pooling and a division by the length: token ids [B, T] to a vector a text [B, C], which lies near those
/// of texts that mean the same (Reimers and Gurevych 2019, "Sentence-BERT", 3).
class SentenceEncoder : public nn::Layer<SentenceEncoder> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit SentenceEncoder(const SentenceEncoderConfig& config);

  /// ids and segments [B, T] (i64) -> [B, C]; the mean is over the positions that the mask shows. Errors as
  /// EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);

  const SentenceEncoderConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;  ///< called as its family is: "bert"

 private:
  SentenceEncoderConfig config_;
};

struct EmbedOptions {
  int64_t batch_tokens = 4096;  ///< tokens at once, padding included
};

/// The vector of each sequence, [sequences, C], in the order given, without history; zeros for an empty one. Sequences
/// are ids as the tokenizer gives them; they are sorted by length into batches, and each gets what it alone would get
/// (up to the rounding of products of another size). The model should be in evaluation mode. Error (shape) for a
/// sequence longer than the model's positions, (index) for an id that is not in its vocabulary, (numeric) where the
/// model gives no numbers.
Tensor embed(SentenceEncoder& model, std::span<const std::vector<int64_t>> sequences, const EmbedOptions& options = {});

/// What `1_Pooling/config.json` of a folder of sentence-transformers says; none where it is not there. Error (config)
/// unless it asks for the mean or for the first position.
std::optional<nn::Pooling> read_pooling(const std::string& folder);

/// A folder of sentence-transformers: an encoder of any family, alone or as a masked language model, whose pooling is
/// read_pooling()'s, the mean without one, and which `modules.json` normalizes or not. Adapters, of the model below
/// that they name or of `below`, are merged into the weights. The model is in evaluation mode. Errors as load_model().
std::unique_ptr<SentenceEncoder> load_sentence_encoder(const std::string& folder, const std::string& below = "");
/// The same, as models of other classes are loaded.
template <class M>
std::unique_ptr<M> load(const std::string& folder);
template <>
inline std::unique_ptr<SentenceEncoder> load<SentenceEncoder>(const std::string& folder) {
  return load_sentence_encoder(folder);
}

struct SentenceFolderOptions {
  std::optional<int64_t> max_tokens = {};  ///< at which sentence-transformers cuts a text; the model's positions
};
/// Writes such a folder, which sentence-transformers and load_model() read (the latter as the encoder alone): the
/// encoder, modules.json, 1_Pooling/config.json, sentence_bert_config.json, and config_sentence_transformers.json,
/// which says that cosines are compared.
void save(const std::string& folder, const SentenceEncoder& model, const SentenceFolderOptions& options = {});
/// Writes the encoder alone, without what says how to pool.
void save_encoder(const std::string& folder, const SentenceEncoder& model);
/// Writes what says how to pool, and no encoder: it may be adapters' (adapter_folder.h).
void save_sentence_modules(const std::string& folder, const SentenceEncoder& model,
                           const SentenceFolderOptions& options = {});

}  // namespace tape::models
