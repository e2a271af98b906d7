#include "autograd/tape/leaf_hooks.h"

namespace tape {

LeafHooks::~LeafHooks() {
  for (auto& [leaf, handle] : hooks_) leaf.remove_hook(handle);
}

void LeafHooks::add(const Tensor& leaf, PostAccumulateGradHook hook) {
  // Reserve first: a hook without an entry would never be removed.
  hooks_.emplace_back(leaf, int64_t{-1});
  hooks_.back().second = hooks_.back().first.register_post_accumulate_grad_hook(std::move(hook));
}

}  // namespace tape
