#include "autograd/diagnose/profile.h"

#include <chrono>

#include "autograd/kernels/runtime/common/work.h"
#include "autograd/memory.h"
#include "autograd/tape/graph.h"

namespace tape {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Profile::Profile(Keep keep) : keep_(keep) { reset(); }

void Profile::on_record(const Op&, TensorList inputs, TensorList outputs, AttributeList) {
  bytes_ = bytes_of(inputs) + bytes_of(outputs);
}

void Profile::on_node(Node& node, TensorList) { charge(Pass::forward, node.name(), bytes_, &node); }

void Profile::on_backward(const Node&) { charge("gradient sums and the tape"); }

void Profile::on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) {
  double bytes = bytes_of(gradients) + bytes_of(results);
  for (const Node::Saved& saved : node.saved) bytes += bytes_of({saved.value});
  charge(Pass::backward, node.name(), bytes, &node);
}

void Profile::charge(Pass pass, std::string_view name, double bytes, const Node* node) {
  const int64_t time = now();
  const double flops = kernels::flop_counter() - flops_;
  Cost& cost = costs_[{pass, std::string(name)}];
  ++cost.calls;
  cost.seconds += static_cast<double>(time - last_) * 1e-9;
  cost.flops += flops;
  cost.bytes += bytes;
  if (keep_ == Keep::costs_and_events)
    keep_event({.pass = pass,
                .name = std::string(name),
                .attributes = node ? to_string(node->attributes) : "",
                .module_path = {},
                .begin = last_ - begin_,
                .end = time - begin_,
                .flops = flops,
                .bytes = bytes,
                .live_bytes = memory_stats().live_bytes},
               node);
  last_ = time;
  flops_ = kernels::flop_counter();
}

void Profile::keep_event(Event event, const Node* node) {
  if (event.pass == Pass::forward) {
    event.module_path = ModuleScope::path();
    // The operation's gradient is charged to the same module.
    if (node && !event.module_path.empty()) modules_[node->sequence] = event.module_path;
  } else if (node) {
    if (const auto found = modules_.find(node->sequence); found != modules_.end()) event.module_path = found->second;
  }
  events_.push_back(std::move(event));
}

void Profile::reset() {
  costs_.clear();
  events_.clear();
  modules_.clear();
  begin_ = last_ = now();
  flops_ = kernels::flop_counter();
}

}  // namespace tape
