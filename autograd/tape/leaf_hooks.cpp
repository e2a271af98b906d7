#include "autograd/tape/leaf_hooks.h"

namespace tape {

LeafHooks::~LeafHooks() {
  for (auto& [leaf, handle] : hooks_) leaf.remove_hook(handle);
}

void LeafHooks::add(const Tensor& leaf, PostAccumulateGradHook hook) {
  // The place comes first: a hook without one would never be removed.
  hooks_.emplace_back(leaf, int64_t{-1});
  hooks_.back().second = hooks_.back().first.register_post_accumulate_grad_hook(std::move(hook));
}

}  // namespace tape
