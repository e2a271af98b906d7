#pragma once

#include <memory>

#include "../../nn/transformer/transformer_layer.h"
#include "../../text/tokenizers/language_kind.h"
#include "../data/parallel_files.h"
#include "../doctor/doctor.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

struct TranslationOptions {
  TaskOptions run;  ///< presets: tiny, small, base; with init fine-tune
  /// Folder of a model with two stacks to go on with (Marian, M2M100, NLLB, BART, mBART, T5, mT5), with its tokenizer.
  /// What the model is like is then its own and cannot be chosen: layers, width, heads, vocab_size, norm and the
  /// dropout.
  std::string init = {};
  std::vector<std::string> freeze = {};  ///< patterns of its modules and parameters that stay as they are
  /// From which of the languages that the tokenizer of init knows, and to which; the run's folder keeps them.
  text::Languages languages = {};
  std::string prefix = {};  ///< in front of each source, as a T5 is told what to do: "translate English to German: "
  ParallelFiles train;
  ParallelFiles valid;
  std::optional<int64_t> layers = {}, width = {}, heads = {};  ///< layers: of the encoder, and of the decoder
  std::optional<int64_t> vocab_size = {};                      ///< tokens of the joint vocabulary
  std::optional<int64_t> batch_tokens = {};  ///< most tokens of a batch on either side, padding included
  std::optional<double> label_smoothing = {};
  std::optional<nn::NormPlace> norm = {};  ///< in front of the sublayers (the default), or behind them
  int64_t max_length = 256;  ///< longest sentence in tokens, its end included; longer ones are skipped and counted
  /// Seconds that training may take: on a slower machine fewer steps are planned, and the schedule with them, from the
  /// pace of a few batches. 0: as many steps as the options say.
  double time_budget = 0;
  /// How BLEU cuts validation texts into words: "13a", "intl", "char", or "none" for tokenized text.
  std::string bleu_tokenizer = "13a";
};

struct TranslationResult {
  TrainResult run;
  double valid_loss = 0;  ///< mean cross-entropy a token, without smoothing
  double valid_bleu = 0;  ///< of greedy translations
};

/// Learns to translate: a joint SentencePiece BPE of both languages, batches of sentences of like length, an
/// encoder-decoder Transformer with one table for source, target and output, Adam, label smoothing, and a rate that
/// warms up and falls along a cosine. The run's folder becomes an M2M100ForConditionalGeneration's, a MarianMTModel's
/// with norms behind: config.json, model.safetensors (the weights with the best validation BLEU, of equal ones those
/// with the smaller loss, or their average), source.spm, target.spm, vocab.json. With init it is one of the class of
/// init.
///
/// What the decoder reads and is to say is what transformers' DataCollatorForSeq2Seq makes of a pair: the labels are
/// the target as its tokenizer writes it, with the language and the end; the decoder begins with the model's start, or
/// with the last label (mBART), and reads all labels but the last.
///
/// What is skipped is told on `out` and counted. Error (config) for options that make no sense and for empty files;
/// (format) naming file and line; (io); (numeric) where the loss or a gradient is not finite.
TranslationResult train_translation(const TranslationOptions& options, std::ostream& out, const TerminalInfo& terminal);

/// Whether that set-up can learn one batch by heart.
Diagnosis examine_translation(const TranslationOptions& options, std::ostream& out);

}  // namespace tape::train
