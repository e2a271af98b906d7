#pragma once

#include "../../nn/transformer/heads.h"
#include "../../text/corpus/labeled.h"
#include "../doctor/doctor.h"
#include "../init/adapter_training.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

/// Options of train_classification() and examine_classification().
struct ClassificationOptions {
  TaskOptions run;                            ///< presets: small from scratch; fine-tune with init
  std::string data;                           ///< training file of labeled lines
  std::string valid = {};                     ///< validation file; "": a part of `data`
  std::optional<double> valid_fraction = {};  ///< fraction of each label's lines for that (0.1); not with `valid`
  text::LabelFormat format = text::LabelFormat::sentence_tab_label;  ///< format of both files if they have lines
  std::optional<text::RecordFormat> records = {};  ///< format of both files if they have records instead of lines
  text::LabeledFields fields = {};                 ///< fields of the records
  std::optional<int64_t> batch = {};               ///< lines per batch
  std::optional<int64_t> batch_tokens = {};        ///< also at most this many tokens per batch, including padding
  std::optional<int64_t> max_length = {};   ///< tokens per line, longer ones are cut; at most the model's positions
  std::optional<nn::Pooling> pooling = {};  ///< default: mean from scratch; with init see read_pretrained_classifier()

  std::string init = {};                         ///< folder of a BERT to start from; "": from scratch
  bool new_head = false;                         ///< discard the head and the labels of init
  std::optional<int64_t> freeze = {};            ///< freeze the embeddings and this many layers of init
  std::optional<AdapterTraining> adapters = {};  ///< train these instead of the encoder of init

  // For a model from scratch.
  std::optional<int64_t> vocab_size = {};  ///< tokens of a byte-level BPE trained on the lines
  std::optional<int64_t> layers = {},      ///< number of encoder layers (2)
      width = {},                          ///< width of the hidden states, a multiple of heads (128)
      heads = {};                          ///< attention heads per layer (4)
};

/// Result of train_classification().
struct ClassificationResult {
  TrainResult run;            ///< result of the training loop
  double valid_loss = 0;      ///< mean cross-entropy per line
  double valid_accuracy = 0;  ///< 0 to 1
  double valid_macro_f1 = 0;  ///< 0 to 1
};

/// Trains a text classifier: an encoder, pooling and a linear layer, with AdamW and a learning rate that rises over a
/// tenth of the steps and falls linearly to 0. Batches have lines of similar length. The run lasts `run.epochs` and is
/// validated after each. Labels are numbered as by text::read_labeled, or as in init if its head is kept.
///
/// The run's folder becomes a BertForSequenceClassification model with label names and tokenizer, with the weights of
/// the best validation accuracy, ties broken by the lower loss. With mean pooling, for which transformers has no class,
/// only models::load_model can read it.
///
/// Prints on `out`, with counts, what is skipped or cut. Throws Error (config) for invalid options, an empty file or
/// fewer than two labels; (format) naming file and line; (io); (numeric) if the loss or a gradient is not finite.
ClassificationResult train_classification(const ClassificationOptions& options, std::ostream& out,
                                          const TerminalInfo& terminal);

/// Whether this setup can overfit one batch.
Diagnosis examine_classification(const ClassificationOptions& options, std::ostream& out);

}  // namespace tape::train
