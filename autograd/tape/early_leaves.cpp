#include "autograd/tape/early_leaves.h"

#include "autograd/tape/modes.h"

namespace tape {
EarlyLeaves::EarlyLeaves() : early_(detail::modes.early_leaves, true) {}
bool EarlyLeaves::active() { return detail::modes.early_leaves; }

}  // namespace tape
