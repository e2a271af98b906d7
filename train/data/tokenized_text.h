#pragma once

#include <string>
#include <vector>

#include "../../text/tokenizer.h"
#include "learned_text.h"
#include "token_store.h"

namespace tape::train {

/// Replaces a token file by the tokens of a text, a few pieces of which are in memory, encoded by all threads; of
/// documents each with its end. Gives the documents, and appends what the tokenizer has no token for to the notes.
std::vector<StoredDocument> tokenize_to_file(const LearnedText& from, const text::Tokenizer& tokenizer,
                                             const std::string& file, std::vector<std::string>& notes);

}  // namespace tape::train
