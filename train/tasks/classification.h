#pragma once

#include "../../nn/transformer/heads.h"
#include "../../text/labelled.h"
#include "../doctor/doctor.h"
#include "../init/adapter_training.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

struct ClassificationOptions {
  TaskOptions run;                            ///< presets: small from scratch; fine-tune with init
  std::string data;                           ///< labelled lines to learn from
  std::string valid = {};                     ///< labelled lines to validate with; "": some of `data`
  std::optional<double> valid_fraction = {};  ///< how many of each label those are (0.1); not with `valid`
  text::LabelFormat format = text::LabelFormat::sentence_tab_label;
  std::optional<text::RecordFormat> records = {};  ///< of both files, in place of lines in that format
  text::LabelledFields fields = {};                ///< of records
  std::optional<int64_t> batch = {};               ///< lines a batch
  std::optional<int64_t> batch_tokens = {};        ///< most tokens of a batch besides, padding included
  std::optional<int64_t> max_length = {};   ///< tokens of a line, longer ones are cut; at most the model's positions
  std::optional<nn::Pooling> pooling = {};  ///< the mean from scratch; with init as read_pretrained() says

  std::string init = {};                         ///< folder of a BERT to begin with; "": from scratch
  bool new_head = false;                         ///< do not go on with the head and the labels of init
  std::optional<int64_t> freeze = {};            ///< hold the embeddings and so many layers of init still
  std::optional<AdapterTraining> adapters = {};  ///< trained in place of the encoder of init

  // Of a model from scratch.
  std::optional<int64_t> vocab_size = {};  ///< tokens of a byte-level BPE learned from the lines
  std::optional<int64_t> layers = {}, width = {}, heads = {};
};

struct ClassificationResult {
  TrainResult run;
  double valid_loss = 0;      ///< mean cross-entropy a line
  double valid_accuracy = 0;  ///< 0 to 1
  double valid_macro_f1 = 0;  ///< 0 to 1
};

/// Learns to tell which label a line has: an encoder, pooling and a linear layer, AdamW, and a rate that rises over a
/// tenth of the steps and falls linearly to 0. Batches hold lines of like length; the run is as long as `run.epochs`
/// says, and is validated after each. Lines of label 0, 1, ... are numbered as text::read_labelled does, or as the
/// labels of init where its head is kept.
///
/// The run's folder becomes a BertForSequenceClassification's with label names and tokenizer, of the weights with the
/// best validation accuracy, of equal ones those with the least loss; with the mean as pooling, for which transformers
/// has no class, one that only models::load_model reads.
///
/// What is skipped or cut is told on `out` and counted. Error (config) for options that make no sense, an empty file,
/// fewer than two labels; (format) naming file and line; (io); (numeric) where the loss or a gradient is not finite.
ClassificationResult train_classification(const ClassificationOptions& options, std::ostream& out,
                                          const TerminalInfo& terminal);

/// Whether that set-up can learn one batch by heart.
Diagnosis examine_classification(const ClassificationOptions& options, std::ostream& out);

}  // namespace tape::train
