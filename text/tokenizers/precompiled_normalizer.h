#pragma once

#include "normalizer.h"

namespace tape::text {

/// SentencePiece's character map (its `precompiled_charsmap`). Error (format) for a blob that is malformed.
NormalizerPtr precompiled_normalizer(std::string_view blob, const std::string& where);

}  // namespace tape::text
