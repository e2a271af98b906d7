#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "../tensor.h"

namespace tape {

/// Post-accumulate-grad hooks of leaves, removed when the object is destroyed.
class LeafHooks : NonCopyable {
 public:
  ~LeafHooks();

  /// See Tensor::register_post_accumulate_grad_hook().
  void add(const Tensor& leaf, PostAccumulateGradHook hook);

 private:
  std::vector<std::pair<Tensor, int64_t>> hooks_;
};

}  // namespace tape
