#pragma once

#include <memory>
#include <string_view>

#include "../corpus/text_reader.h"
#include "byte_level_bpe.h"

namespace tape::text {

/// Trains a character-level tokenizer: one token per character (code point) of the text, in code point order, followed
/// by `<|endoftext|>`. It is a byte-level BPE whose merges only join the bytes of a character, so it is saved and
/// loaded in GPT-2's format. Each invalid UTF-8 byte is a token. In other texts, unseen characters are split into their
/// bytes and unseen bytes are dropped.
///
/// Throws Error (config) for an empty text.
std::unique_ptr<ByteLevelBpe> character_tokenizer(std::string_view text);
/// Same for a text in pieces, each of whole characters.
std::unique_ptr<ByteLevelBpe> character_tokenizer(const NextPiece& next);

}  // namespace tape::text
