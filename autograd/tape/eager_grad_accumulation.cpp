#include "autograd/tape/eager_grad_accumulation.h"

#include "autograd/tape/modes.h"

namespace tape {
EagerGradAccumulation::EagerGradAccumulation() : early_(detail::modes.eager_grad_accumulation, true) {}
bool EagerGradAccumulation::active() { return detail::modes.eager_grad_accumulation; }

}  // namespace tape
