#pragma once

#include <filesystem>

#include <fmt/format.h>

#include "models/folders/folder.h"
#include "tests/support/fixtures.h"
#include "tests/train/tiny_task.h"
#include "text/tokenizers/tokenizer.h"

// Labeled lines that a tiny model learns in seconds, and folders to start from.

namespace tape::train {

/// `count` lines of 4 to 9 words; one of the words, never the first, determines the label: net, number or german.
inline std::string labeled_text(int64_t count, uint64_t seed) {
  const std::vector<std::vector<std::string>> telling{{"gradients", "layers"}, {"seven", "eight"}, {"satz", "schicht"}};
  const std::vector<std::string> labels{"net", "number", "german"},
      words{"that", "things", "only", "once", "seen", "word", "owners"};
  Generator draws(seed);
  std::string text;
  for (int64_t line = 0; line < count; ++line) {
    const auto label = static_cast<size_t>(draws.below(3));
    const int64_t length = 4 + draws.below(6), place = 1 + draws.below(length - 1);
    for (int64_t i = 0; i < length; ++i) {
      const std::vector<std::string>& from = i == place ? telling[label] : words;
      text += fmt::format("{}{}", i == 0 ? "" : " ", from[static_cast<size_t>(draws.below(std::ssize(from)))]);
    }
    text += fmt::format("\t{}\n", labels[label]);
  }
  return text;
}

/// A BERT with random weights for the tokenizer tests/fixtures/tokenizers/bert.
inline models::BertConfig small_bert(bool pooler = true) {
  return {.vocab = 450,
          .d_model = 16,
          .layers = 3,
          .heads = 2,
          .d_ff = 32,
          .max_length = 24,
          .dropout = 0.1,
          .attention_dropout = 0.1,
          .pooler = pooler,
          .init_std = 0.2};
}

inline void add_tokenizer(const std::string& folder) {
  std::filesystem::copy(fixture_path("tokenizers/bert/vocab.txt"), folder);
}

inline std::string save_bert(const std::string& folder, bool pooler = true) {
  manual_seed(7);
  models::save(folder, models::Bert(small_bert(pooler)));
  add_tokenizer(folder);
  return folder;
}

}  // namespace tape::train
