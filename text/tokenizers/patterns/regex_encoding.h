#pragma once

#include <oniguruma.h>

namespace tape::text {

/// UTF-8 encoding for Oniguruma with the character properties and case pairs of Unicode 16, as in `tokenizers`, for any
/// version of the installed library.
OnigEncoding regex_encoding();

}  // namespace tape::text
