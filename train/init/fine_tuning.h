#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../models/heads/masked_language_model.h"
#include "../../models/heads/sequence_classifier.h"
#include "../../models/heads/token_classifier.h"
#include "../../models/sentence/sentence_encoder.h"
#include "../../optim/optimizer.h"
#include "../../text/tokenizer.h"

namespace tape::train {

/// The encoder in a model's configuration, which may be the encoder's alone.
template <class Config>
auto& encoder_of(Config& config) {
  if constexpr (requires { config.encoder; })
    return config.encoder;
  else
    return config;
}

/// A folder that was trained on something else, to begin a model with: its encoder, and its head where it has one.
template <class Model>
struct PretrainedFor {
  std::string folder;
  std::decay_t<decltype(std::declval<const Model&>().config())> config;  ///< the encoder as in the folder; its labels
  nn::StateDict values;  ///< "bert.*", and "head.*" where the folder holds a Model
  bool has_pooler = false;
  std::unique_ptr<text::Tokenizer> tokenizer;
  bool has_head() const {
    return std::ranges::any_of(values, [](const auto& named) { return named.first.starts_with("head."); });
  }
};

/// To begin a classifier of whole texts with; the pooling in its config is chosen.
struct Pretrained : PretrainedFor<models::SequenceClassifier> {
  std::string pooling_reason;  ///< what chose the pooling, for people
};

/// To begin a model that labels tokens with.
using PretrainedTokens = PretrainedFor<models::TokenClassifier>;
/// To go on saying hidden words with.
using PretrainedWords = PretrainedFor<models::MaskedLanguageModel>;
/// To begin a model of sentences' vectors with; the pooling is that of 1_Pooling/config.json, without one the mean.
using PretrainedSentences = PretrainedFor<models::SentenceEncoder>;

/// Reads a folder of an encoder of any family with its tokenizer: the model alone, or with a head of any kind, which is
/// kept where it is a classifier's of sequences. Adapters are merged into the weights.
///
/// The pooling is the classifier's own; else what 1_Pooling/config.json says (folders of sentence-transformers); else
/// the first position where the folder has a pooler, and the mean where it has none.
///
/// Error (config) for a folder of another class of model, a tokenizer with more tokens than the model, a 1_Pooling that
/// asks for something else than the mean or the first position; (format) and (io) as models::load_model and
/// text::load_tokenizer.
Pretrained read_pretrained(const std::string& folder);

/// The same for a model that labels tokens: a head is kept where it is one of tokens, and there is no pooling.
PretrainedTokens read_pretrained_tokens(const std::string& folder);
/// The same for a masked language model, whose head is kept.
PretrainedWords read_pretrained_words(const std::string& folder);
/// The same for a sentence encoder, which has no head, with any pooling. Error (config) also for modules with weights
/// after the pooling.
PretrainedSentences read_pretrained_sentences(const std::string& folder);

/// What a model that begins with a folder is like.
struct FineTuning {
  std::vector<std::string> labels;          ///< the head is new unless these are the folder's
  std::optional<nn::Pooling> pooling = {};  ///< of a classifier of texts, in place of the folder's
  std::optional<double> dropout = {};       ///< of embeddings, attention and sublayers, in place of the folder's
};

/// The classifier: the folder's values, and new ones from the stream of first values where it has none.
std::unique_ptr<models::SequenceClassifier> begin_classifier(const Pretrained& from, const FineTuning& options);
/// The same that labels tokens.
std::unique_ptr<models::TokenClassifier> begin_token_classifier(const PretrainedTokens& from,
                                                                const FineTuning& options);
/// The masked language model; its head is new where the folder has none.
std::unique_ptr<models::MaskedLanguageModel> begin_masked_language_model(const PretrainedWords& from,
                                                                         std::optional<double> dropout = {});
/// The sentence encoder, with vectors of length 1.
std::unique_ptr<models::SentenceEncoder> begin_sentence_encoder(const PretrainedSentences& from,
                                                                const std::vector<models::SentencePooling>& pooling,
                                                                std::optional<double> dropout = {});

/// Holds the embeddings and the first `layers` layers still. Error (config) unless 0 <= layers <= the model's.
void freeze_layers(nn::Module& model, int64_t layers);

}  // namespace tape::train
