#include "autograd/tape/uses.h"

namespace tape {
namespace {
thread_local Uses* innermost = nullptr;
}  // namespace

Uses::Uses() : previous_(innermost), begin_(Ref<Node>(new Node)->sequence) { innermost = this; }
Uses::~Uses() { innermost = previous_; }
Uses* Uses::active() { return innermost; }

void Uses::see(TensorList inputs) {
  for (const Tensor& input : inputs) {
    if (!input.requires_grad()) continue;
    const TensorImpl& place = input.impl();
    if (place.node->sequence < begin_ && seen_.emplace(place.node.get(), place.output).second) found_.push_back(input);
  }
}

}  // namespace tape
