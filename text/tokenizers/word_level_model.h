#pragma once

#include "model.h"

namespace tape::text {

/// Each word is a token of the vocabulary, or the unknown one. Error (format) `where: ...` when unk_token is not in the
/// vocabulary, which must outlive the model.
WordModelPtr word_level_model(const TokenTable& vocabulary, const std::string& unk_token, const std::string& where);

}  // namespace tape::text
