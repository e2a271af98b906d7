#pragma once

#include "../../text/corpus/labeled_words.h"
#include "../doctor/doctor.h"
#include "../init/adapter_training.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

/// Options of train_token_classification() and examine_token_classification().
struct TokenClassificationOptions {
  TaskOptions run;                                 ///< presets: small from scratch; fine-tune with init
  std::string data;                                ///< training file with sentences of labeled words
  std::string valid = {};                          ///< validation file; "": a part of `data`
  std::optional<double> valid_fraction = {};       ///< fraction of the sentences for that (0.1); not with `valid`
  std::optional<text::RecordFormat> records = {};  ///< format of both files; default: CoNLL lines
  text::LabeledWordsFields fields = {};            ///< fields of the records
  std::optional<int64_t> batch = {};               ///< sentences per batch
  std::optional<int64_t> batch_tokens = {};        ///< also at most this many tokens per batch, including padding
  std::optional<int64_t> max_length = {};  ///< tokens per sentence, longer ones are cut; at most the model's positions

  std::string init = {};                         ///< folder of an encoder to start from; "": from scratch
  bool new_head = false;                         ///< discard the head and the labels of init
  std::optional<int64_t> freeze = {};            ///< freeze the embeddings and this many layers of init
  std::optional<AdapterTraining> adapters = {};  ///< train these instead of the encoder of init

  // For a model from scratch.
  std::optional<int64_t> vocab_size = {};  ///< tokens of a byte-level BPE trained on the sentences
  std::optional<int64_t> layers = {},      ///< number of encoder layers (2)
      width = {},                          ///< width of the hidden states, a multiple of heads (128)
      heads = {};                          ///< attention heads per layer (4)
};

/// Result of train_token_classification().
struct TokenClassificationResult {
  TrainResult run;                      ///< result of the training loop
  double valid_loss = 0;                ///< mean cross-entropy per word
  double valid_accuracy = 0;            ///< share of words with a correct label, 0 to 1
  std::optional<double> valid_f1 = {};  ///< entity F1, 0 to 1, if the labels follow the BIO scheme: see EntityCounter
};

/// Trains a token classifier for the words of sentences: an encoder, dropout and a linear layer at each position
/// (Devlin et al. 2019, 5.3), with the optimizer, schedule and batches of train_classification(). A sentence is its
/// words joined by spaces; the first token of a word has its label as target, the others are ignored (-100). Labels are
/// numbered as by text::LabelEncoder, or as in init if its head is kept.
///
/// The run's folder becomes a BertForTokenClassification model, or one of init's family, with label names
/// and tokenizer, with the weights of the best validation F1 of entities, or accuracy without BIO labels; ties are
/// broken by the lower loss. Words after the cut, and those that the tokenizer drops, are used in neither training nor
/// validation.
///
/// Prints on `out`, with counts, what is skipped or cut. Throws Error (config) for invalid options, an empty file,
/// fewer than two labels or no word with a token; (format) naming file and line; (io); (numeric) if the loss or a
/// gradient is not finite.
TokenClassificationResult train_token_classification(const TokenClassificationOptions& options, std::ostream& out,
                                                     const TerminalInfo& terminal);

/// Whether this setup can overfit one batch.
Diagnosis examine_token_classification(const TokenClassificationOptions& options, std::ostream& out);

}  // namespace tape::train
