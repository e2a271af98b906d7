#pragma once

#include "entries.h"

namespace tape::models::gguf {

/// The tokens that end a text, as llama.cpp collects them: eos, eot and eom of the metadata, then tokens that it knows
/// by their text ("<|eot_id|>", "<|im_end|>", "</s>", ...), in the order of their ids. Error (format) for an id outside
/// the vocabulary.
std::vector<int64_t> read_ends(const GgufEntries& entries);

/// Adds a model's ends to the metadata of its tokenizer as eos, eot and eom; eos stays where it is one of them, or is
/// added to every text. Error (config) for more ends than llama.cpp would find again.
void write_ends(GgufMetadata& metadata, const std::vector<int64_t>& ends);

}  // namespace tape::models::gguf
