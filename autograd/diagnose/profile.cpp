#include "autograd/diagnose/profile.h"

#include <chrono>

#include "autograd/kernels/work.h"
#include "autograd/memory.h"

namespace tape {
namespace {

thread_local Profile* innermost = nullptr;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Profile::Profile(Keep keep) : previous_(innermost), keep_(keep) {
  innermost = this;
  reset();
}

Profile::~Profile() { innermost = previous_; }

Profile* Profile::active() { return innermost; }

void Profile::charge(Pass pass, std::string_view name, double bytes, const Node* node) {
  const int64_t time = now();
  const double flops = kernels::flops_asked() - flops_;
  Cost& cost = costs_[{pass, std::string(name)}];
  ++cost.calls;
  cost.seconds += static_cast<double>(time - last_) * 1e-9;
  cost.flops += flops;
  cost.bytes += bytes;
  if (keep_ == Keep::costs_and_events)
    keep_event({.pass = pass,
                .name = std::string(name),
                .module_path = {},
                .begin = last_ - begin_,
                .end = time - begin_,
                .flops = flops,
                .bytes = bytes,
                .live_bytes = memory_stats().live_bytes},
               node);
  last_ = time;
  flops_ = kernels::flops_asked();
}

void Profile::keep_event(Event event, const Node* node) {
  if (event.pass == Pass::forward) {
    event.module_path = ModuleScope::path();
    // Its gradient belongs to the same module.
    if (node && !event.module_path.empty()) modules_[node->sequence] = event.module_path;
  } else if (node) {
    if (const auto found = modules_.find(node->sequence); found != modules_.end()) event.module_path = found->second;
  }
  events_.push_back(std::move(event));
}

double bytes_of(TensorList tensors) {
  double bytes = 0;
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) bytes += static_cast<double>(tensor.numel() * size_of(tensor.dtype()));
  return bytes;
}

void Profile::reset() {
  costs_.clear();
  events_.clear();
  modules_.clear();
  begin_ = last_ = now();
  flops_ = kernels::flops_asked();
}

}  // namespace tape
