#pragma once

#include "../../text/record_reader.h"
#include "../doctor/doctor.h"
#include "../init/adapter_training.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

struct MaskedWordsOptions {
  TaskOptions run;                                 ///< presets: small from scratch; fine-tune with init
  std::string data;                                ///< lines, or records with a text each, to learn from
  std::string valid = {};                          ///< the same to validate with; "": some of `data`
  std::optional<double> valid_fraction = {};       ///< how many those are (0.1); not with `valid`
  std::optional<text::RecordFormat> records = {};  ///< of both files, in place of lines
  std::string text_field = "text";                 ///< of records
  double mask_share = 0.15;                        ///< how many of a line's tokens are to be said
  std::optional<int64_t> batch = {};               ///< lines a batch
  std::optional<int64_t> batch_tokens = {};        ///< most tokens of a batch besides, padding included
  std::optional<int64_t> max_length = {};  ///< tokens of a line, longer ones become several; at most the positions

  std::string init = {};                         ///< folder of an encoder to begin with; "": from scratch
  std::optional<int64_t> freeze = {};            ///< hold the embeddings and so many layers of init still
  std::optional<AdapterTraining> adapters = {};  ///< trained in place of the encoder of init

  // Of a model from scratch.
  std::optional<int64_t> vocab_size = {};  ///< tokens of a byte-level BPE learned from the lines
  std::optional<int64_t> layers = {}, width = {}, heads = {};
};

struct MaskedWordsResult {
  TrainResult run;
  double valid_loss = 0;      ///< mean cross-entropy (nats) of the tokens that are to be said
  double valid_accuracy = 0;  ///< how many of them were said right, 0 to 1
};

/// Learns an encoder from text without labels: to say tokens that are hidden (Devlin et al. 2019, 3.1; see WordMask),
/// chosen anew in each epoch, with the head and the loss of those alone. An encoder of init keeps its head where it has
/// one for hidden words. AdamW, and a rate that rises over a tenth of the steps and falls linearly to 0. Validation has
/// one choice of tokens throughout.
///
/// The run's folder becomes that of the encoder's class with that head (BertForMaskedLM) and of the tokenizer, of the
/// weights with the lowest validation loss: what `train classifier` and `train embedding` begin with.
///
/// What is skipped or parted is told on `out` and counted. Error (config) for options that make no sense, a tokenizer
/// without a mask token, an empty file; (format) naming file and line; (io); (numeric) where the loss or a gradient is
/// not finite.
MaskedWordsResult train_masked_words(const MaskedWordsOptions& options, std::ostream& out,
                                     const TerminalInfo& terminal);

/// Whether that set-up can learn one batch by heart.
Diagnosis examine_masked_words(const MaskedWordsOptions& options, std::ostream& out);

}  // namespace tape::train
