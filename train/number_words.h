#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "../base/terminal.h"
#include "../models/transformer.h"
#include "../text/vocabulary.h"

namespace tape::train {

/// How the built-in task is trained: German number words to English ones with the full encoder-decoder Transformer.
struct NumberWordsOptions {
  int64_t steps = 400;
  double seconds = 55;  ///< fewer steps where the machine's pace would take longer than this; 0 never
  int64_t batch = 128;  ///< pairs a step
  double lr = 2e-3;     ///< at the end of the warm-up
  uint64_t seed = 1;
  int64_t held_out = 1000;                ///< numbers that are translated at the end
  std::string out = "runs/number-words";  ///< folder for the model
  /// Asked after each step; true ends the training early, and the model is saved.
  std::function<bool()> interrupted = {};
};

struct NumberWordsResult {
  int64_t steps = 0;
  double train_seconds = 0;
  double tokens_per_second = 0;  ///< source and target tokens, without padding
  double loss = 0;               ///< of the last step
  int64_t held_out = 0;          ///< numbers translated
  int64_t exact = 0;             ///< of these, how many letter for letter
  double held_out_exact() const { return held_out ? static_cast<double>(exact) / static_cast<double>(held_out) : 0; }
};

/// A trained model with its vocabularies.
struct NumberWordsModel {
  text::Vocabulary german, english;
  std::unique_ptr<models::Transformer> model;

  /// Ids of a German number word's morphemes, with the end of sequence behind them.
  std::vector<int64_t> encode(const std::string& word) const;
  /// English for German number words, by greedy decoding.
  std::vector<std::string> translate(const std::vector<std::string>& words);
  void save(const std::string& folder) const;
  void save_vocabularies(const std::string& folder) const;
  /// Error naming the file that is missing, broken, or does not fit the others.
  static NumberWordsModel load(const std::string& folder);
};

/// The held-out numbers that a run with this seed is scored on.
std::vector<int64_t> scored_numbers(int64_t count, uint64_t seed);

/// Trains, writing progress and the score to `out`, and saves the model into the folder (config.json,
/// model.safetensors, src_vocab.txt, tgt_vocab.txt). Error (config) for options that make no sense; Error (io), before
/// any training, for a folder that cannot be written.
NumberWordsResult train_number_words(const NumberWordsOptions& options, std::ostream& out,
                                     const TerminalInfo& terminal);

}  // namespace tape::train
