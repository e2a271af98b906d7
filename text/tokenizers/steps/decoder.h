#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../patterns/pattern.h"

namespace tape::text {

/// Converts the tokens of a sequence to parts of text, which are then concatenated.
using Decoder = std::function<void(std::vector<std::string>& tokens)>;

/// Joins `##` pieces and puts spaces between words; `cleanup` removes those before punctuation.
Decoder word_piece_decoder(std::string prefix, bool cleanup);
/// Converts GPT-2's alphabet to bytes exactly, valid UTF-8 or not. A token outside the alphabet is unchanged.
Decoder byte_level_decoder();
/// Converts U+2581 to a space, except the one that was prepended to the text.
Decoder metaspace_decoder(std::string replacement, bool prepended);
Decoder replace_decoder(Pattern pattern, std::string content);
/// Converts the end-of-word suffix, such as `</w>`, to a space.
Decoder suffix_decoder(std::string suffix);
/// CTC (Graves et al. 2006): collapses repeated tokens, removes `pad`, and with `cleanup` converts `delimiter` to a
/// space.
Decoder ctc_decoder(std::string pad, std::string delimiter, bool cleanup);
/// Converts a run of byte tokens such as `<0x0A>` to text, or each to U+FFFD if together they are not valid UTF-8.
Decoder byte_fallback_decoder();
/// Joins all tokens into one.
Decoder fuse_decoder();
/// Removes `content` up to `start` times from the start and `stop` times from the end of each token.
Decoder strip_decoder(std::string content, int64_t start, int64_t stop);
Decoder decoder_sequence(std::vector<Decoder> steps);

/// Removes spaces before punctuation and English contractions, like `transformers` with clean_up_tokenization_spaces.
std::string cleaned_up(std::string text);

/// Replaces every occurrence of `pattern` from the left; none if it is "".
std::string replaced(const std::string& text, std::string_view pattern, std::string_view content);

/// The byte of a token such as `<0x0A>`, -1 for any other token.
int byte_of_token(const std::string& token);

}  // namespace tape::text
