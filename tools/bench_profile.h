#pragma once

#include <iosfwd>

#include "autograd/profile.h"

namespace tape::tools {

/// A table of what each operation costs a step, the dearest first: share of the time, calls, and the rates it reached.
void print_profile(std::ostream& out, const Profile::Costs& costs, int64_t steps);

}  // namespace tape::tools
