#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "../../text/tokenizer.h"
#include "../encoders/encoder_config.h"
#include "sentence_modules.h"

namespace tape::models {

/// How a text becomes the tokens that a sentence encoder reads.
struct SentenceTextOptions {
  std::map<std::string, std::string> prompts = {};  ///< what is put in front of a text, by name ("query": "query: ")
  std::optional<std::string> default_prompt = {};   ///< the name of the prompt that is used where none is asked for
  std::optional<int64_t> max_tokens = {};           ///< a longer text is cut; the model's positions where not given
  bool lowercase = false;                           ///< before it is split
};

/// An encoder and how its positions become one vector.
struct SentenceEncoderConfig {
  EncoderConfig encoder = {};
  std::vector<SentencePooling> pooling = {SentencePooling::mean};  ///< their vectors are concatenated
  bool include_prompt = true;                                      ///< whether the tokens of a prompt are pooled too
  std::vector<SentenceModuleOptions> modules = {};                 ///< after the pooling
  bool normalize = true;  ///< at the end, to length 1, so that products of vectors are cosines
  SentenceTextOptions text = {};
};

/// An encoder, pooling, modules and a division by the length: token ids [B, T] to a vector a text [B, width()], which
/// lies near those of texts that mean the same (Reimers and Gurevych 2019, "Sentence-BERT", 3).
class SentenceEncoder : public nn::Layer<SentenceEncoder> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit SentenceEncoder(const SentenceEncoderConfig& config);

  /// ids and segments [B, T] (i64) -> [B, width()]; positions that the mask hides are not pooled, nor are the first
  /// `prompt_tokens` of each text where the configuration does not include prompts. Errors as EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {}, int64_t prompt_tokens = 0);
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);

  const SentenceEncoderConfig& config() const { return config_; }
  /// Of a text's vector.
  int64_t width() const;
  /// Of a text, special tokens and the prompt included: longer ones are cut.
  int64_t max_tokens() const;

  nn::Child<EncoderModel> base;  ///< called as its family is: "bert"
  nn::Children<SentenceModule> modules;

 private:
  SentenceEncoderConfig config_;
};

struct EmbedOptions {
  int64_t batch_tokens = 4096;  ///< tokens at once, padding included
  int64_t prompt_tokens = 0;    ///< with which each sequence begins, see SentenceEncoder::forward()
};

/// The vector of each sequence, [sequences, width()], in the order given, without history; zeros for an empty one.
/// Sequences are ids as the tokenizer gives them; they are sorted by length into batches, and each gets what it alone
/// would get (up to the rounding of products of another size). The model should be in evaluation mode. Error (shape)
/// for a sequence longer than the model's positions, (index) for an id that is not in its vocabulary, (numeric) where
/// the model gives no numbers.
Tensor embed(SentenceEncoder& model, std::span<const std::vector<int64_t>> sequences, const EmbedOptions& options = {});

struct EmbedTextOptions {
  std::optional<std::string> prompt = {};       ///< put in front of each text
  std::optional<std::string> prompt_name = {};  ///< or the model's prompt of this name; else its default, if any
  int64_t batch_tokens = 4096;
  /// Sees each text as the tokenizer does, its whole encoding and whether that is cut: for reports.
  std::function<void(const std::string& read, const text::Encoding& whole, bool cut)> on_text = {};
};

/// The vector of each text, as sentence-transformers' encode(): with a prompt in front, cut to max_tokens. Error
/// (config) naming the prompts for one that the model does not have; else as above.
Tensor embed(SentenceEncoder& model, const text::Tokenizer& tokenizer, std::span<const std::string> texts,
             const EmbedTextOptions& options = {});

/// The pooling that the folder of a sentence encoder asks for: that of the Pooling module in `modules.json`, or of
/// `1_Pooling/config.json` where there is no such list; none where there is neither. Errors as load_sentence_encoder().
std::optional<std::vector<SentencePooling>> read_pooling(const std::string& folder);

/// A folder of sentence-transformers: an encoder of any family, alone or as a masked language model, with what
/// `modules.json` puts after it (Pooling in any combination of modes, Dense, LayerNorm, Dropout, Normalize) and the
/// prompts of `config_sentence_transformers.json`; the mean alone where there is neither that list nor a
/// `1_Pooling/config.json`. Adapters, of the model below that they name or of `below`, are merged into the weights. The
/// model is in evaluation mode. Error (config) naming the file and the module or key that is not computed here; else as
/// load_model().
std::unique_ptr<SentenceEncoder> load_sentence_encoder(const std::string& folder, const std::string& below = "");
/// The same, as models of other classes are loaded.
template <class M>
std::unique_ptr<M> load(const std::string& folder);
template <>
inline std::unique_ptr<SentenceEncoder> load<SentenceEncoder>(const std::string& folder) {
  return load_sentence_encoder(folder);
}

struct SentenceFolderOptions {
  /// At which sentence-transformers cuts a text; as the model's configuration says where not given.
  std::optional<int64_t> max_tokens = {};
};
/// Writes such a folder, which sentence-transformers and load_model() read (the latter as the encoder alone): the
/// encoder, modules.json with a folder for each module, sentence_bert_config.json, and
/// config_sentence_transformers.json with the prompts, which says that cosines are compared.
void save(const std::string& folder, const SentenceEncoder& model, const SentenceFolderOptions& options = {});
/// Writes the encoder alone, without what says how to pool.
void save_encoder(const std::string& folder, const SentenceEncoder& model);
/// Writes what comes after the encoder, and no encoder: it may be adapters' (adapter_folder.h).
void save_sentence_modules(const std::string& folder, const SentenceEncoder& model,
                           const SentenceFolderOptions& options = {});

}  // namespace tape::models
