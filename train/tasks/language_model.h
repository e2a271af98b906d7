#pragma once

#include "../../text/tokenizers/byte_level_bpe.h"
#include "../data/text_source.h"
#include "../doctor/doctor.h"
#include "../init/decoder_model.h"
#include "../init/pretrained_decoder.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

/// Kind of tokenizer to train for a language model.
enum class TokenLevel {
  characters,
  bpe  ///< a byte-level BPE
};

/// Options of train_language_model() and examine_language_model().
struct LanguageModelOptions {
  TaskOptions run;              ///< presets: nano, shakespeare; with init fine-tune, with adapters adapters
  std::string text;             ///< training file: a text, tokens, or documents (see TextFormat and LanguageData)
  std::string valid = {};       ///< validation file; "": the end of `text`
  double valid_fraction = 0.1;  ///< fraction of `text` used for that
  std::optional<TextFormat> format = {};  ///< of both files; default: by file extension
  text::DocumentFields fields = {};       ///< fields of records
  bool pack = false;                      ///< several documents per row, without attention between them: LanguageData
  std::string tokenizer = {};             ///< folder of a tokenizer to use instead of training one
  TokenLevel level = TokenLevel::characters;  ///< kind of tokenizer to train
  int64_t vocab_size = 2000;                  ///< for TokenLevel::bpe
  std::optional<int64_t> context = {};        ///< sequence length in tokens
  std::optional<int64_t> batch = {};          ///< sequences per batch
  /// Model to start from; default: from scratch. It determines the options below, which then cannot be set, nor can
  /// level, vocab_size and the dropout.
  std::optional<DecoderInit> init = {};
  DecoderKind architecture = DecoderKind::gpt2;       ///< model type
  std::optional<int64_t> layers = {},                 ///< number of layers
      width = {},                                     ///< width of the hidden states, a multiple of heads
      heads = {};                                     ///< attention heads per layer
  std::optional<int64_t> kv_heads = {},               ///< heads of keys and values, see DecoderSizes
      window = {};                                    ///< width of the attention window, see DecoderSizes
  std::optional<nn::ActivationKind> activation = {};  ///< see DecoderSizes
};

/// Result of train_language_model().
struct LanguageModelResult {
  TrainResult run;        ///< result of the training loop
  double valid_loss = 0;  ///< mean cross-entropy (nats) per target token over all of validation
};

/// Trains a decoder-only language model. The text is tokenized once into files in the run's folder (token_store.h),
/// from which batches are read on demand, so that it may be larger than memory. Uses AdamW and a learning rate with
/// warm-up and cosine decay, to a tenth (nano) or to zero. Each epoch uses every token once (language_data.h). The
/// run's folder becomes a model of the architecture's class in transformers (GPT2LMHeadModel, LlamaForCausalLM, ...),
/// with vocab.json and merges.txt, with the weights of the lowest validation loss. The preset nano is the CPU recipe of
/// nanoGPT (4 layers, width 128, context 64, batch 12, 2,000 steps). With adapters the folder has only those, in peft's
/// format, and names the folder of the base model.
///
/// Throws Error (config) for invalid options and for texts that are too short; (format) naming file and line; (io);
/// (numeric) if the loss or a gradient is not finite.
LanguageModelResult train_language_model(const LanguageModelOptions& options, std::ostream& out,
                                         const TerminalInfo& terminal);

/// Whether this setup can overfit one batch.
Diagnosis examine_language_model(const LanguageModelOptions& options, std::ostream& out);

}  // namespace tape::train
