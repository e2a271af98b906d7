#pragma once

#include <string>

#include "../autograd/diagnose/profile.h"

namespace tape {

/// The events of a profile that kept them, in the Trace Event Format (JSON) that chrome://tracing and
/// https://ui.perfetto.dev open: one slice an operation with pass, module path, bytes, flops and the rate they give,
/// inside slices of the modules it ran in, and the live bytes of all tensors as a curve. Times are microseconds since
/// the profile began.
std::string chrome_trace(const Profile& profile);
/// The same in a file, which is replaced as a whole. Error (io) where it cannot be written.
void write_chrome_trace(const std::string& path, const Profile& profile);

}  // namespace tape
