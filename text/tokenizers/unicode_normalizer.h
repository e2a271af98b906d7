#pragma once

#include "normalizer.h"

namespace tape::text {

enum class UnicodeForm { nfd, nfc, nfkd, nfkc };
NormalizerPtr unicode_normalizer(UnicodeForm form);

}  // namespace tape::text
