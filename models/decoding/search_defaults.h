#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tape::models {

/// Search defaults of a model's folder (generation_config.json, or else config.json), which translate() and generate()
/// use unless the caller overrides them.
struct SearchDefaults {
  std::optional<int64_t> beams = {};          ///< num_beams
  std::optional<double> length_penalty = {};  ///< length_penalty
  bool early_stopping = false;                ///< early_stopping, see BeamOptions
  int64_t no_repeat_ngram = 0;                ///< no_repeat_ngram_size; 0: no limit
  /// min_new_tokens, or min_length minus the token that starts a target; only min_new_tokens for decoder-only models
  int64_t min_length = 0;
  std::optional<int64_t> max_length = {};  ///< max_new_tokens, or max_length minus that token
  bool forced_eos = false;                 ///< forced_eos_token_id: forces eos as the token at max_length
  /// Keys of the file that affect generation in transformers but not here.
  std::vector<std::string> not_followed = {};
  /// Keys for transformers' generate() without a field here, as the text of a JSON object or empty; save() writes them
  /// back.
  std::string other_keys = {};
};

/// "folder/generation_config.json: repetition_penalty is not followed"; empty if every key is.
std::string note_of(const SearchDefaults& defaults, const std::string& folder);

}  // namespace tape::models
