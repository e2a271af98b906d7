#include "tests/support/paths.h"

#include <fmt/core.h>

namespace tape {

std::string source_path(const std::string& name) { return fmt::format("{}/{}", TAPEFORMER_SOURCE_DIR, name); }

}  // namespace tape
