#include "autograd/tape/custom_forward.h"

#include <utility>

#include "autograd/tape/modes.h"

namespace tape::detail {

OnCustomForward::OnCustomForward(std::function<void(const Op&)> call)
    : call_(std::move(call)), innermost_(modes.on_custom_forward, this) {}

void OnCustomForward::begin(const Op& op) {
  if (modes.on_custom_forward) modes.on_custom_forward->call_(op);
}

}  // namespace tape::detail
