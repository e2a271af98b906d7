#pragma once

#include <span>
#include <string>

namespace tape {

/// Writes the return addresses of the calling functions, innermost first. Returns their number.
int call_stack(std::span<void*> addresses);

/// `file:line` or name of the innermost function outside the library, or "": see TraceRecord::source().
std::string caller_outside_library(std::span<void* const> addresses);

}  // namespace tape
