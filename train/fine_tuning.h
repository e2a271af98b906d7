#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../models/masked_language_model.h"
#include "../models/sentence_encoder.h"
#include "../models/sequence_classifier.h"
#include "../optim/optimizer.h"
#include "../text/tokenizer.h"

namespace tape::train {

/// An encoder that was trained on something else, to begin a model with.
struct Pretrained {
  std::string folder;
  models::SequenceClassifierConfig config;  ///< the encoder as in the folder; the pooling chosen; labels of its head
  nn::StateDict values;  ///< "bert.*", and "head.*" where the folder holds a classifier or a masked language model
  bool has_pooler = false;
  bool has_pooling_file = false;  ///< 1_Pooling/config.json chose the pooling
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::string pooling_reason;                                                  ///< what chose the pooling, for people
  bool has_head() const { return values.contains("head.classifier.weight"); }  ///< a classifier's
  /// That says hidden words; its decoder may be the token table, which stands under that name.
  bool has_masked_head() const { return values.contains("head.dense.weight") && !has_head(); }
};

/// Reads a folder of an encoder of any family with its tokenizer: the model alone, a masked language model or a
/// classifier of sequences.
///
/// The pooling is the classifier's own; else what 1_Pooling/config.json says (folders of sentence-transformers); else
/// the first position where the folder has a pooler, and the mean where it has none.
///
/// Error (config) for a folder of another class of model, a tokenizer with more tokens than the model, a 1_Pooling that
/// asks for neither the mean nor the first position; (format) and (io) as models::load_model and text::load_tokenizer.
/// `what` is what begins with it, in errors.
Pretrained read_pretrained(const std::string& folder, const char* what = "a classifier");

/// What a classifier that begins with it is like.
struct FineTuning {
  std::vector<std::string> labels;          ///< the head is new unless these are the folder's
  std::optional<nn::Pooling> pooling = {};  ///< in place of the folder's
  std::optional<double> dropout = {};       ///< of embeddings, attention and sublayers, in place of the folder's
};

/// The classifier: the folder's values, and new ones from the stream of first values where it has none.
std::unique_ptr<models::SequenceClassifier> begin_classifier(const Pretrained& from, const FineTuning& options);

/// The sentence encoder, whose vectors have length 1.
std::unique_ptr<models::SentenceEncoder> begin_sentence_encoder(const Pretrained& from, nn::Pooling pooling,
                                                                std::optional<double> dropout = {});
/// The masked language model; its head is new where the folder has none.
std::unique_ptr<models::MaskedLanguageModel> begin_masked_language_model(const Pretrained& from,
                                                                         std::optional<double> dropout = {});

/// Holds the embeddings and the first `layers` layers still. Error (config) unless 0 <= layers <= the model's.
void freeze_layers(nn::Module& model, int64_t layers);

}  // namespace tape::train
