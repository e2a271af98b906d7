#include "autograd/tape/custom_forward.h"

#include <utility>

namespace tape::detail {
namespace {

thread_local const OnCustomForward* on_custom_forward = nullptr;

}  // namespace

OnCustomForward::OnCustomForward(std::function<void(const Op&)> call)
    : call_(std::move(call)), previous_(std::exchange(on_custom_forward, this)) {}
OnCustomForward::~OnCustomForward() { on_custom_forward = previous_; }

void OnCustomForward::begin(const Op& op) {
  if (on_custom_forward) on_custom_forward->call_(op);
}

}  // namespace tape::detail
