#pragma once

#include <string>

#include "../autograd/diagnose/profile.h"

namespace tape {

/// Converts a profile that stored its events to the Trace Event Format (JSON), which chrome://tracing and
/// https://ui.perfetto.dev open: one slice per operation with pass, module path, bytes, FLOPs and the resulting rates,
/// nested in slices of its modules, and a curve of the live tensor bytes. Times are microseconds since the start of the
/// profile, of the GPU for its operations.
std::string chrome_trace(const Profile& profile);
/// Writes chrome_trace(profile) to a file, which is replaced atomically. Throws Error (io) if that fails.
void write_chrome_trace(const std::string& path, const Profile& profile);

}  // namespace tape
