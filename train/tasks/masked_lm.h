#pragma once

#include "../../text/corpus/record_reader.h"
#include "../doctor/doctor.h"
#include "../init/adapter_training.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

/// Options of train_masked_lm() and examine_masked_lm().
struct MaskedLMOptions {
  TaskOptions run;                                 ///< presets: small from scratch; fine-tune with init
  std::string data;                                ///< training file of lines, or of records with a text each
  std::string valid = {};                          ///< validation file; "": a part of `data`
  std::optional<double> valid_fraction = {};       ///< fraction of the lines for that (0.1); not with `valid`
  std::optional<text::RecordFormat> records = {};  ///< format of both files if they have records instead of lines
  std::string text_field = "text";                 ///< field of the records
  double mask_share = 0.15;                        ///< share of a line's tokens that must be predicted
  std::optional<int64_t> batch = {};               ///< lines per batch
  std::optional<int64_t> batch_tokens = {};        ///< also at most this many tokens per batch, including padding
  std::optional<int64_t> max_length = {};  ///< tokens per line, longer ones are split; at most the model's positions

  std::string init = {};                         ///< folder of an encoder to start from; "": from scratch
  std::optional<int64_t> freeze = {};            ///< freeze the embeddings and this many layers of init
  std::optional<AdapterTraining> adapters = {};  ///< train these instead of the encoder of init

  // For a model from scratch.
  std::optional<int64_t> vocab_size = {};  ///< tokens of a byte-level BPE trained on the lines
  std::optional<int64_t> layers = {},      ///< number of encoder layers (2)
      width = {},                          ///< width of the hidden states, a multiple of heads (128)
      heads = {};                          ///< attention heads per layer (4)
};

/// Result of train_masked_lm().
struct MaskedLMResult {
  TrainResult run;            ///< result of the training loop
  double valid_loss = 0;      ///< mean cross-entropy (nats) of the masked tokens
  double valid_accuracy = 0;  ///< share of them that were predicted correctly, 0 to 1
};

/// Trains an encoder on unlabeled text by masked language modeling (Devlin et al. 2019, 3.1; see TokenMask), with new
/// masks in each epoch and a loss over the masked tokens only. An encoder of init keeps its language modeling head if
/// it has one. Uses AdamW and a learning rate that rises over a tenth of the steps and falls linearly to 0. The
/// validation masks are fixed.
///
/// The run's folder becomes a model of the encoder's class with this head (BertForMaskedLM), with tokenizer, with the
/// weights of the lowest validation loss: `train classifier` and `train embedding` can start from it.
///
/// Prints on `out`, with counts, what is skipped or split. Throws Error (config) for invalid options, a tokenizer
/// without a mask token or an empty file; (format) naming file and line; (io); (numeric) if the loss or a gradient is
/// not finite.
MaskedLMResult train_masked_lm(const MaskedLMOptions& options, std::ostream& out, const TerminalInfo& terminal);

/// Whether this setup can overfit one batch.
Diagnosis examine_masked_lm(const MaskedLMOptions& options, std::ostream& out);

}  // namespace tape::train
