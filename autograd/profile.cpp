#include "autograd/profile.h"

#include <chrono>

#include "autograd/kernels/work.h"

namespace tape {
namespace {

thread_local Profile* innermost = nullptr;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Profile::Profile() : previous_(innermost) {
  innermost = this;
  reset();
}

Profile::~Profile() { innermost = previous_; }

Profile* Profile::active() { return innermost; }

void Profile::charge(Pass pass, std::string_view name, double bytes) {
  const double time = now(), flops = kernels::flops_asked();
  Cost& cost = costs_[{pass, std::string(name)}];
  ++cost.calls;
  cost.seconds += time - last_;
  cost.flops += flops - flops_;
  cost.bytes += bytes;
  last_ = time;
  flops_ = flops;
}

double bytes_of(TensorList tensors) {
  double bytes = 0;
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) bytes += static_cast<double>(tensor.numel() * size_of(tensor.dtype()));
  return bytes;
}

void Profile::reset() {
  costs_.clear();
  last_ = now();
  flops_ = kernels::flops_asked();
}

}  // namespace tape
