#pragma once

#include <memory>
#include <string_view>

#include "byte_level_bpe.h"
#include "text_reader.h"

namespace tape::text {

/// A tokenizer whose tokens are the characters (code points) of a text, each one token, in the order of their numbers,
/// and `<|endoftext|>` behind them: a byte-level BPE whose merges do nothing but put the bytes of a character together,
/// so that it is saved and read as GPT-2's is. Bytes that are no UTF-8 stand alone. In other texts characters that it
/// has not seen come apart into their bytes, and bytes that it has not seen are left out.
///
/// Error (config) for an empty text.
std::unique_ptr<ByteLevelBpe> character_tokenizer(std::string_view text);
/// The same of a text that comes in pieces, each of whole characters.
std::unique_ptr<ByteLevelBpe> character_tokenizer(const NextPiece& next);

}  // namespace tape::text
