#pragma once

#include <memory>

#include "../../nn/transformer/transformer_layer.h"
#include "../../text/tokenizers/folder/language_kind.h"
#include "../data/parallel_files.h"
#include "../doctor/doctor.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

/// Options of train_translation() and examine_translation().
struct TranslationOptions {
  TaskOptions run;  ///< presets: tiny, small, base; with init fine-tune
  /// Folder of an encoder-decoder model to start from (Marian, M2M100, NLLB, BART, mBART, T5, mT5), with its tokenizer.
  /// It determines layers, width, heads, vocab_size, norm and the dropout, which then cannot be set.
  std::string init = {};
  std::vector<std::string> freeze = {};  ///< patterns of its modules and parameters to freeze
  /// Source and target among the languages that the tokenizer of init knows; saved in the run's folder.
  text::Languages languages = {};
  std::string prefix = {};  ///< prepended to each source, as a T5 task prefix: "translate English to German: "
  ParallelFiles train;      ///< sentence pairs to train on
  ParallelFiles valid;      ///< sentence pairs to validate on; required
  std::optional<int64_t> layers = {},      ///< layers of encoder and decoder each
      width = {},                          ///< width of the hidden states, a multiple of heads
      heads = {};                          ///< attention heads per layer
  std::optional<int64_t> vocab_size = {};  ///< size of the joint vocabulary
  /// Normalization of the tokenizer to train: see text::TrainSentencePieceOptions. `identity` makes a tokenizer that is
  /// 240 kB smaller, for texts that are normalized already.
  std::string normalization = "nmt_nfkc";
  std::optional<int64_t> batch_tokens = {};    ///< maximum tokens per batch and side, including padding
  std::optional<double> label_smoothing = {};  ///< label smoothing of the training loss (0.1)
  std::optional<nn::NormPlace> norm = {};      ///< pre-norm (default) or post-norm
  int64_t max_length = 256;  ///< maximum sentence length in tokens, including the end; longer pairs are skipped
  /// Time limit for training in seconds: on a slower machine fewer steps are planned, and a shorter schedule, from the
  /// measured speed of a few batches. 0: no limit.
  double time_budget = 0;
  /// BLEU tokenization of validation texts: "13a", "intl", "char", or "none" for tokenized text.
  std::string bleu_tokenizer = "13a";
};

/// Result of train_translation().
struct TranslationResult {
  TrainResult run;        ///< result of the training loop
  double valid_loss = 0;  ///< mean cross-entropy per token, without label smoothing
  double valid_bleu = 0;  ///< of greedy translations
};

/// Trains a translation model: a joint SentencePiece BPE of both languages, batches of sentences of similar length, an
/// encoder-decoder Transformer with one embedding table for source, target and output, Adam, label smoothing, and a
/// learning rate with warm-up and cosine decay. The run's folder becomes an M2M100ForConditionalGeneration model, or
/// a MarianMTModel with post-norm: config.json, model.safetensors (the weights with the best validation BLEU, ties
/// broken by the lower loss, or their average), source.spm, target.spm, vocab.json. With init it has the class of init.
///
/// Decoder inputs and labels are those of transformers' DataCollatorForSeq2Seq: the labels are the target as its
/// tokenizer encodes it, with language and end tokens; the decoder input is the model's start token, or the last label
/// (mBART), followed by all labels except the last.
///
/// Prints on `out`, with counts, what is skipped. Throws Error (config) for invalid options and for empty files;
/// (format) naming file and line; (io); (numeric) if the loss or a gradient is not finite.
TranslationResult train_translation(const TranslationOptions& options, std::ostream& out, const TerminalInfo& terminal);

/// Whether this setup can overfit one batch.
Diagnosis examine_translation(const TranslationOptions& options, std::ostream& out);

}  // namespace tape::train
