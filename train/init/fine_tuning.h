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
#include "../../text/tokenizers/tokenizer.h"

namespace tape::train {

/// The encoder configuration within a model's configuration, which may itself be one.
template <class Config>
auto& encoder_of(Config& config) {
  if constexpr (requires { config.encoder; })
    return config.encoder;
  else
    return config;
}

/// A pretrained folder to start a model from: its encoder, and its head if it has a suitable one.
template <class Model>
struct PretrainedFor {
  std::string folder;
  std::decay_t<decltype(std::declval<const Model&>().config())> config;  ///< encoder and labels of the folder
  nn::StateDict values;  ///< "bert.*", and "head.*" if the folder has a Model
  bool has_pooler = false;
  std::unique_ptr<text::Tokenizer> tokenizer;
  bool has_head() const {
    return std::ranges::any_of(values, [](const auto& named) { return named.first.starts_with("head."); });
  }
};

/// For a classifier of whole texts; the pooling in its config has been chosen.
struct PretrainedClassifier : PretrainedFor<models::SequenceClassifier> {
  std::string pooling_reason;  ///< reason for the pooling, to print
};

/// For a token classifier.
using PretrainedTokenClassifier = PretrainedFor<models::TokenClassifier>;
/// For continuing masked language modeling.
using PretrainedMaskedLM = PretrainedFor<models::MaskedLanguageModel>;
/// For a sentence encoder; the pooling is that of 1_Pooling/config.json, by default the mean.
using PretrainedSentenceEncoder = PretrainedFor<models::SentenceEncoder>;

/// Reads a folder of an encoder of any family with its tokenizer: a bare encoder, or one with a head of any kind. A
/// sequence classifier's head is kept. Adapters are merged into the weights.
///
/// The pooling is the classifier's own; otherwise that of 1_Pooling/config.json (folders of sentence-transformers);
/// otherwise the first position if the folder has a pooler, and the mean if it has none.
///
/// Throws Error (config) for a folder of another model class, a tokenizer with more tokens than the model, or a
/// 1_Pooling mode other than the mean or the first position; (format) and (io) as models::load_model and
/// text::load_tokenizer.
PretrainedClassifier read_pretrained_classifier(const std::string& folder);

/// The same for a token classifier: a token classifier's head is kept, and there is no pooling.
PretrainedTokenClassifier read_pretrained_token_classifier(const std::string& folder);
/// The same for a masked language model, whose head is kept.
PretrainedMaskedLM read_pretrained_masked_lm(const std::string& folder);
/// The same for a sentence encoder, which has no head, with any pooling. Also throws Error (config) for modules with
/// weights after the pooling.
PretrainedSentenceEncoder read_pretrained_sentence_encoder(const std::string& folder);

/// Options of a model that starts from a folder.
struct FineTuning {
  std::vector<std::string> labels;          ///< the head is new unless these are the folder's labels
  std::optional<nn::Pooling> pooling = {};  ///< overrides the folder's pooling; text classifiers only
  std::optional<double> dropout = {};       ///< overrides the folder's dropout of embeddings, attention and sublayers
};

/// The classifier: the folder's values, and random initial values for what it lacks.
std::unique_ptr<models::SequenceClassifier> make_classifier(const PretrainedClassifier& from,
                                                            const FineTuning& options);
/// The same for a token classifier.
std::unique_ptr<models::TokenClassifier> make_token_classifier(const PretrainedTokenClassifier& from,
                                                               const FineTuning& options);
/// The masked language model; its head is new if the folder has none.
std::unique_ptr<models::MaskedLanguageModel> begin_masked_language_model(const PretrainedMaskedLM& from,
                                                                         std::optional<double> dropout = {});
/// The sentence encoder, with vectors normalized to length 1.
std::unique_ptr<models::SentenceEncoder> begin_sentence_encoder(const PretrainedSentenceEncoder& from,
                                                                const std::vector<models::SentencePooling>& pooling,
                                                                std::optional<double> dropout = {});

/// Freezes the embeddings and the first `layers` layers. Throws Error (config) unless 0 <= layers <= the model's.
void freeze_layers(nn::Module& model, int64_t layers);

}  // namespace tape::train
