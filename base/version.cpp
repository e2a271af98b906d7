#include "base/version.h"

namespace tape {

std::string_view version() { return TAPEFORMER_VERSION; }

}  // namespace tape
