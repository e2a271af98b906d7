#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "../../text/tokenizers/tokenizer.h"
#include "../encoders/encoder_config.h"
#include "sentence_modules.h"

namespace tape::models {

/// How texts are prepared for a sentence encoder.
struct SentenceTextOptions {
  std::map<std::string, std::string> prompts = {};  ///< prefixes of texts, by name ("query": "query: ")
  std::optional<std::string> default_prompt = {};   ///< name of the prompt that is used unless another is requested
  std::optional<int64_t> max_tokens = {};           ///< longer texts are truncated; default: the model's positions
  bool lowercase = false;                           ///< whether to lowercase before tokenizing
};

/// A text as the tokenizer reads it, without a prompt: in lower case if the options ask for it.
std::string prepared(const SentenceTextOptions& options, const std::string& text);

/// An encoder and how its hidden states become one vector.
struct SentenceEncoderConfig {
  EncoderConfig encoder = {};                                      ///< the encoder; its pooler is not used
  std::vector<SentencePooling> pooling = {SentencePooling::mean};  ///< their vectors are concatenated
  bool include_prompt = true;                                      ///< whether tokens of a prompt are pooled too
  std::vector<SentenceModuleOptions> modules = {};                 ///< after the pooling
  bool normalize = true;  ///< whether to scale to length 1 at the end, so that dot products are cosine similarities
  SentenceTextOptions text = {};  ///< preparation of texts
};

/// An encoder, pooling, modules and normalization: token ids [B, T] to one vector per text [B, width()], which is close
/// to the vectors of texts with similar meaning (Reimers and Gurevych 2019, "Sentence-BERT", 3).
class SentenceEncoder : public nn::Layer<SentenceEncoder> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit SentenceEncoder(const SentenceEncoderConfig& config);

  /// ids and segments [B, T] (i64) -> [B, width()]. Masked positions are not pooled, nor are the first `prompt_tokens`
  /// of each text unless the configuration includes prompts. Throws the errors of EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {}, int64_t prompt_tokens = 0);
  /// forward() with the padding masked.
  Tensor forward(const Tensor& ids);

  /// The configuration given to the constructor.
  const SentenceEncoderConfig& config() const { return config_; }
  /// Width of a text's vector.
  int64_t width() const;
  /// Maximum number of tokens, including special tokens and the prompt; longer texts are truncated.
  int64_t max_tokens() const;

  nn::Child<EncoderModel> base;          ///< named after its family: "bert"
  nn::Children<SentenceModule> modules;  ///< applied to the pooled vector, in order

 private:
  SentenceEncoderConfig config_;
};

/// Options of embed() for token ids.
struct EmbedOptions {
  int64_t batch_tokens = 4096;  ///< tokens per batch, including padding
  int64_t prompt_tokens = 0;    ///< prompt length of each sequence, see SentenceEncoder::forward()
};

/// The vector of each sequence, [sequences, width()], in the given order, without gradients; zeros for an empty one.
/// Sequences are ids from the tokenizer; they are sorted by length into batches, and results do not depend on the batch
/// (up to the rounding of differently sized products). The model should be in evaluation mode. Throws Error (shape) for
/// a sequence longer than the model's positions, (index) for an id outside the vocabulary, (numeric) if the model
/// returns NaN or infinity.
Tensor embed(SentenceEncoder& model, std::span<const std::vector<int64_t>> sequences, const EmbedOptions& options = {});

/// Options of embed() for texts.
struct EmbedTextOptions {
  std::optional<std::string> prompt = {};       ///< prepended to each text
  std::optional<std::string> prompt_name = {};  ///< or the model's prompt of this name; default: the model's, if any
  int64_t batch_tokens = 4096;                  ///< tokens per batch, including padding
  /// Receives each text as the tokenizer sees it, its full encoding and whether it is truncated, for reports.
  std::function<void(const std::string& read, const text::Encoding& whole, bool cut)> on_text = {};
};

/// The vector of each text, as in sentence-transformers' encode(): with a prompt prepended, truncated to max_tokens.
/// Throws Error (config) listing the prompts if the requested one does not exist; and the errors above.
Tensor embed(SentenceEncoder& model, const text::Tokenizer& tokenizer, std::span<const std::string> texts,
             const EmbedTextOptions& options = {});

/// Pooling of a sentence encoder's folder: from the Pooling module in `modules.json`, or from `1_Pooling/config.json`
/// if there is no such list; nullopt if there is neither. Throws the errors of load_sentence_encoder().
std::optional<std::vector<SentencePooling>> read_pooling(const std::string& folder);

/// Loads a sentence-transformers folder: an encoder of any family, without a head or as a masked language model, with
/// the modules of `modules.json` (Pooling in any combination of modes, Dense, LayerNorm, Dropout, Normalize) and the
/// prompts of `config_sentence_transformers.json`. Without that list and a `1_Pooling/config.json`, it pools the mean.
/// Adapters, of the base model that they name or of `below`, are merged into the weights. The model is in evaluation
/// mode. Throws Error (config) naming the file and an unsupported module or key; and the errors of load_model().
std::unique_ptr<SentenceEncoder> load_sentence_encoder(const std::string& folder, const std::string& below = "");
template <class M>
std::unique_ptr<M> load(const std::string& folder);
/// load_sentence_encoder() under the name that loads models of other classes.
template <>
inline std::unique_ptr<SentenceEncoder> load<SentenceEncoder>(const std::string& folder) {
  return load_sentence_encoder(folder);
}

/// Options of save() for a sentence encoder.
struct SentenceFolderOptions {
  /// Length at which sentence-transformers truncates a text; default: from the model's configuration.
  std::optional<int64_t> max_tokens = {};
};
/// Writes such a folder, which sentence-transformers and load_model() read (the latter as the encoder only): the
/// encoder, modules.json with a folder for each module, sentence_bert_config.json, and
/// config_sentence_transformers.json with the prompts and cosine as the similarity function.
void save(const std::string& folder, const SentenceEncoder& model, const SentenceFolderOptions& options = {});
/// Writes only the encoder, without the pooling settings.
void save_encoder(const std::string& folder, const SentenceEncoder& model);
/// Writes everything except the encoder, which may be stored as adapters (adapter_folder.h).
void save_sentence_modules(const std::string& folder, const SentenceEncoder& model,
                           const SentenceFolderOptions& options = {});

}  // namespace tape::models
