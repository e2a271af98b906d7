#pragma once

#include "../../text/byte_level_bpe.h"
#include "../data/learned_text.h"
#include "../doctor/doctor.h"
#include "../init/decoder_model.h"
#include "../init/pretrained_decoder.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

/// What a language model's tokens are.
enum class TokenLevel {
  characters,
  bpe  ///< a byte-level BPE, learned from the text
};

struct LanguageModelOptions {
  TaskOptions run;              ///< presets: nano, shakespeare; with init fine-tune, with adapters adapters
  std::string text;             ///< file to learn from: a text, tokens, or documents (see TextFormat and LanguageData)
  std::string valid = {};       ///< file to validate with; "": the end of `text`
  double valid_fraction = 0.1;  ///< how much of `text` that is
  std::optional<TextFormat> format = {};  ///< of both files; by the ends of their names where it is not given
  text::DocumentFields fields = {};       ///< of records
  bool pack = false;                      ///< several documents a row, kept apart; see LanguageData
  std::string tokenizer = {};             ///< folder of one to take, in place of learning one
  TokenLevel level = TokenLevel::characters;
  int64_t vocab_size = 2000;            ///< of TokenLevel::bpe
  std::optional<int64_t> context = {};  ///< tokens that the model sees at once
  std::optional<int64_t> batch = {};    ///< windows of so many tokens a batch
  /// A model to go on with; without one it begins from nothing. What follows is then its own and cannot be chosen, nor
  /// can level, vocab_size and the dropout.
  std::optional<DecoderStart> init = {};
  DecoderKind architecture = DecoderKind::gpt2;
  std::optional<int64_t> layers = {}, width = {}, heads = {};
  std::optional<int64_t> kv_heads = {}, window = {};  ///< see DecoderSizes
  std::optional<nn::ActivationKind> activation = {};  ///< see DecoderSizes
};

struct LanguageModelResult {
  TrainResult run;
  double valid_loss = 0;  ///< mean cross-entropy a token (nats) of those that are learned, over all of validation
};

/// Learns a text, token by token: tokenized once to files in the run's folder (token_store.h), of which what a batch
/// needs is read, so that it may be larger than memory. A decoder-only model, AdamW, a rate that warms up and falls
/// along a cosine to a tenth (nano) or to nothing. Each epoch sees every token once (language_data.h). The run's folder
/// becomes that of the architecture's class in transformers (GPT2LMHeadModel, LlamaForCausalLM, ...), with vocab.json
/// and merges.txt, of the weights with the lowest validation loss. The preset nano is the CPU recipe of nanoGPT (4
/// layers, width 128, context 64, batch 12, 2,000 steps). With adapters the folder is peft's, of the adapters alone,
/// and names the folder of the model below.
///
/// Error (config) for options that make no sense and for texts that are too short; (format) naming file and line; (io);
/// (numeric) where the loss or a gradient is not finite.
LanguageModelResult train_language_model(const LanguageModelOptions& options, std::ostream& out,
                                         const TerminalInfo& terminal);

/// Whether that set-up can learn one batch by heart.
Diagnosis examine_language_model(const LanguageModelOptions& options, std::ostream& out);

}  // namespace tape::train
