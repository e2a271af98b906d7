#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "../../base/terminal.h"
#include "../../models/encoder_decoders/transformer.h"
#include "../../text/number_words_tokenizer.h"
#include "../trainer/trainer.h"
#include "recipe.h"
#include "task.h"

namespace tape::train {

/// What the built-in task's options leave open; the warm-up is never more than the first tenth of the steps, and an
/// evaluation follows every eighth of them.
inline constexpr Recipe kNumberWordsRecipe{.steps = 400, .lr = 2e-3, .warmup = 40, .clip_norm = 1};

/// How the built-in task is trained: German number words to English ones with the full encoder-decoder Transformer.
struct NumberWordsOptions {
  TaskOptions run;
  int64_t batch = 128;      ///< pairs a step
  double budget = 55;       ///< seconds: fewer steps where this machine's pace would take longer; 0: never fewer
  int64_t held_out = 1000;  ///< numbers that are translated at the end
};

struct NumberWordsResult {
  TrainResult run;
  int64_t held_out = 0;  ///< numbers translated
  int64_t exact = 0;     ///< of these, how many letter for letter
  double held_out_exact() const { return held_out ? static_cast<double>(exact) / static_cast<double>(held_out) : 0; }
};

/// A trained model with its tokenizer.
struct NumberWordsModel {
  std::unique_ptr<text::NumberWordsTokenizer> tokenizer;
  std::unique_ptr<models::Transformer> model;

  /// English for German number words, by greedy decoding.
  std::vector<std::string> translate(const std::vector<std::string>& words);
  /// Error naming the file that is missing, broken, or does not fit the others.
  static NumberWordsModel load(const std::string& folder);
};

/// The held-out numbers that a run with this seed is scored on.
std::vector<int64_t> scored_numbers(int64_t count, uint64_t seed);

/// Trains as the other tasks do, with checkpoints and a log in the run's folder, and scores the model; progress and the
/// score are written to `out`. The folder can be loaded as a NumberWordsModel. Error (config) for options that make no
/// sense; Error (io), before any training, for a folder that cannot be written.
NumberWordsResult train_number_words(const NumberWordsOptions& options, std::ostream& out,
                                     const TerminalInfo& terminal);

}  // namespace tape::train
