#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "../folder/config.h"
#include "../table_tokenizer.h"
#include "added_tokens.h"
#include "decoder.h"
#include "model.h"
#include "normalizer.h"
#include "pre_tokenizer.h"

namespace tape::text {

/// Whether token offsets exclude leading and trailing spaces (`Ġ`).
enum class TrimOffsets {
  no,
  all,
  all_but_prefix,  ///< exclude them, except one of the first token, which was prepended to the text
};

/// A tokenizer composed of steps: extracts added tokens, normalizes the rest, splits it into words, and each word into
/// tokens.
class Pipeline : public TableTokenizer {
 public:
  std::vector<std::string> explain(std::string_view text) const override;

 protected:
  struct Parts {
    std::unique_ptr<const TokenTable> table = {};  ///< all tokens, including added ones; the model points to it
    Normalizer normalizer = {};                    ///< empty: the text is unchanged
    PreTokenizer pre_tokenizer = {};               ///< empty: the text is one word
    WordModelPtr model = {};
    Decoder decoder = {};  ///< empty: tokens are joined with spaces
    TrimOffsets trim = TrimOffsets::no;
    bool clean_up = false;                ///< decode removes spaces before punctuation and contractions
    TokenizerConfig config = {};          ///< its tokens are matched in a text before any other step,
    std::vector<AddedToken> listed = {};  ///< as are these
  };
  explicit Pipeline(Parts parts);

  void split(std::string_view text, std::vector<Piece>& to) const override;
  bool skipped(int64_t id) const override;
  std::string join(std::span<const int64_t> ids) const override;
  /// Writes tokenizer_config.json.
  void save_config(const std::string& folder) const;

  TokenizerConfig config_;

 private:
  using Lines = std::vector<std::string>;

  void add_token(const AddedToken& token);
  template <class Text, class Token>
  static void each_part(const AddedTokens& tokens, std::string_view text, Text&& on_text, Token&& on_token);
  void split_with_trace(std::string_view text, std::vector<Piece>& to, Lines* lines) const;
  void split_source(std::string_view source, uint32_t at, std::vector<Piece>& to, Lines* lines) const;
  void split_normalized(Normalized& text, bool starts, std::vector<Piece>& to, Lines* lines) const;
  void trim(std::string_view text, std::span<Piece> pieces) const;
  const std::string& written(int64_t id) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  WordModelPtr model_;
  Decoder decoder_;
  TrimOffsets trim_;
  bool clean_up_;
  std::vector<AddedToken> added_list_;
  AddedTokens added_, added_normalized_;                         // matched before and after the normalizer
  std::vector<bool> is_added_;                                   // by id
  std::unordered_map<int64_t, std::string> normalized_content_;  // by id, if it differs from the token
};

}  // namespace tape::text
