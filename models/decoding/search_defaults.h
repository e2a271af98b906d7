#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tape::models {

/// How a folder wants its model searched (generation_config.json, or config.json where there is none): what translate()
/// and generate() do where the caller does not say otherwise.
struct SearchDefaults {
  std::optional<int64_t> beams = {};          ///< num_beams
  std::optional<double> length_penalty = {};  ///< length_penalty
  bool early_stopping = false;                ///< early_stopping: as BeamOptions::early_stopping
  int64_t no_repeat_ngram = 0;                ///< no_repeat_ngram_size; 0: anything may be said again
  /// min_new_tokens, or min_length less the token that begins a target; of a decoder-only model min_new_tokens alone
  int64_t min_length = 0;
  std::optional<int64_t> max_length = {};  ///< max_new_tokens, or max_length less that token
  bool forced_eos = false;                 ///< forced_eos_token_id: the last token at max_length is the end
  /// Keys of the file that change what transformers says, and nothing here.
  std::vector<std::string> not_followed = {};
};

/// "folder/generation_config.json: repetition_penalty is not followed"; empty where all is.
std::string note_of(const SearchDefaults& defaults, const std::string& folder);

}  // namespace tape::models
