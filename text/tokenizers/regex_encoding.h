#pragma once

#include <oniguruma.h>

namespace tape::text {

/// UTF-8 for Oniguruma, with the character properties and case pairs of the Unicode version that `tokenizers` uses (16)
/// whatever version the installed library has.
OnigEncoding regex_encoding();

}  // namespace tape::text
