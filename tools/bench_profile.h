#pragma once

#include <iosfwd>

#include "autograd/diagnose/profile.h"
#include "tools/bench_peaks.h"

namespace tape::tools {

/// A table of what each operation costs a step, the dearest first: share of the time, calls, the rates it reached, and
/// their share of the peak: of products where it multiplies matrices, else of memory (above 100% in a cache).
void print_profile(std::ostream& out, const Profile::Costs& costs, int64_t steps, const Peaks& peaks);

}  // namespace tape::tools
