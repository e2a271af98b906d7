#include "autograd/tape/early_leaves.h"

#include <utility>

#include "autograd/tape/modes.h"

namespace tape {
EarlyLeaves::EarlyLeaves() : previous_(std::exchange(detail::modes.early_leaves, true)) {}
EarlyLeaves::~EarlyLeaves() { detail::modes.early_leaves = previous_; }
bool EarlyLeaves::active() { return detail::modes.early_leaves; }

}  // namespace tape
