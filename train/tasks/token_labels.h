#pragma once

#include "../../text/labelled_words.h"
#include "../doctor/doctor.h"
#include "../init/adapter_training.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

struct TokenLabelOptions {
  TaskOptions run;                                 ///< presets: small from scratch; fine-tune with init
  std::string data;                                ///< sentences of labelled words to learn from
  std::string valid = {};                          ///< the same to validate with; "": some of `data`
  std::optional<double> valid_fraction = {};       ///< how many sentences those are (0.1); not with `valid`
  std::optional<text::RecordFormat> records = {};  ///< of both files; lines of CoNLL where it is not given
  text::LabelledWordsFields fields = {};           ///< of records
  std::optional<int64_t> batch = {};               ///< sentences a batch
  std::optional<int64_t> batch_tokens = {};        ///< most tokens of a batch besides, padding included
  std::optional<int64_t> max_length = {};  ///< tokens of a sentence, longer ones are cut; at most the model's positions

  std::string init = {};                         ///< folder of an encoder to begin with; "": from scratch
  bool new_head = false;                         ///< do not go on with the head and the labels of init
  std::optional<int64_t> freeze = {};            ///< hold the embeddings and so many layers of init still
  std::optional<AdapterTraining> adapters = {};  ///< trained in place of the encoder of init

  // Of a model from scratch.
  std::optional<int64_t> vocab_size = {};  ///< tokens of a byte-level BPE learned from the sentences
  std::optional<int64_t> layers = {}, width = {}, heads = {};
};

struct TokenLabelResult {
  TrainResult run;
  double valid_loss = 0;                ///< mean cross-entropy a word
  double valid_accuracy = 0;            ///< share of words whose label was said, 0 to 1
  std::optional<double> valid_f1 = {};  ///< of entities, 0 to 1, where the labels are those of BIO: see EntityCounter
};

/// Learns to tell which label each word of a sentence has: an encoder, dropout and a linear layer at each position
/// (Devlin et al. 2019, 5.3), with the optimizer, schedule and batches of train_classification(). A sentence is read as
/// its words with blanks between them; the first token of a word learns its label, the others learn nothing (-100). The
/// labels are numbered as text::LabelNumbers does, or as those of init where its head is kept.
///
/// The run's folder becomes a BertForTokenClassification's, or that of init's family, with label names and tokenizer,
/// of the weights with the best validation F1 of entities, without BIO the best accuracy; of equal ones those with the
/// least loss. Words behind the cut, and those that a tokenizer drops, are neither learned nor validated.
///
/// What is skipped or cut is told on `out` and counted. Error (config) for options that make no sense, an empty file,
/// fewer than two labels, no word that has a token; (format) naming file and line; (io); (numeric) where the loss or a
/// gradient is not finite.
TokenLabelResult train_token_labels(const TokenLabelOptions& options, std::ostream& out, const TerminalInfo& terminal);

/// Whether that set-up can learn one batch by heart.
Diagnosis examine_token_labels(const TokenLabelOptions& options, std::ostream& out);

}  // namespace tape::train
