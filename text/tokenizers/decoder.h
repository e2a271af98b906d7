#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pattern.h"

namespace tape::text {

/// Turns the tokens of a sequence into parts of text; the parts joined are the text.
using Decoder = std::function<void(std::vector<std::string>& tokens)>;

/// Joins `##` pieces and puts blanks between words; `cleanup` takes those before punctuation away again.
Decoder word_piece_decoder(std::string prefix, bool cleanup);
/// Bytes that GPT-2's alphabet stands for, exactly, valid UTF-8 or not. A token outside the alphabet stands for itself.
Decoder byte_level_decoder();
/// U+2581 becomes a blank, but for the one that was put before the text.
Decoder metaspace_decoder(std::string replacement, bool prepended);
Decoder replace_decoder(Pattern pattern, std::string content);
/// The suffix of words, as `</w>`, becomes a blank.
Decoder suffix_decoder(std::string suffix);
/// Of speech (Graves et al. 2006): one of equal neighbours stays, `pad` goes, `delimiter` becomes a blank with
/// `cleanup`.
Decoder ctc_decoder(std::string pad, std::string delimiter, bool cleanup);
/// Bytes such as `<0x0A>` in a row become their text, or U+FFFD for each where together they are no valid UTF-8.
Decoder byte_fallback_decoder();
/// Makes one token of all.
Decoder fuse_decoder();
/// Takes up to `start` and `stop` times `content` from the ends of each token.
Decoder strip_decoder(std::string content, int64_t start, int64_t stop);
Decoder decoder_sequence(std::vector<Decoder> steps);

/// A text without the blanks before punctuation and English contractions, as `transformers` does it where
/// clean_up_tokenization_spaces is set.
std::string cleaned_up(std::string text);

/// `content` wherever `pattern` stands, from the left; nowhere for "".
std::string replaced(const std::string& text, std::string_view pattern, std::string_view content);

/// The byte of a token like `<0x0A>`, -1 for any other token.
int byte_of_token(const std::string& token);

}  // namespace tape::text
