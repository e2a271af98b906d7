#pragma once

#include <functional>
#include <string>

#include "../../nn/module/module.h"
#include "../../optim/adam.h"
#include "../trainer/loader.h"

namespace tape::train {

/// Makes the steps of a run fit into a limit of memory, which holds for all tensors while it lives (then the
/// physical memory is the limit again). It tries: what a
/// batch takes is known once it has been learned from.
class MemoryFit {
 public:
  /// Of the limit, what Adam's means and a moving average of the weights take is kept free.
  MemoryFit(int64_t limit, nn::Module& model, bool averages, optim::MomentKind moments);
  ~MemoryFit();
  MemoryFit(const MemoryFit&) = delete;
  MemoryFit& operator=(const MemoryFit&) = delete;

  /// Tries batches of the first epoch (some of all lengths) as they are, then with the layers as checkpoints, then in
  /// 2, 4, 8, ... parts besides, until a gradient of each can be worked out. Leaves the model without gradients, the
  /// source at its beginning, and the random streams where they were. Error (out_of_memory) where that is not even
  /// possible for single examples.
  void find(BatchSource& source, bool checkpoints, const std::function<void(const void* batch)>& learn);
  int64_t parts() const { return parts_; }
  /// "memory limit 512.0 MiB: layers are checkpoints, batches are learned from in 4 parts"
  std::string text() const;

 private:
  bool fits(BatchSource& source, const std::function<void(const void* batch)>& learn);

  const int64_t limit_;
  nn::Module& model_;
  int64_t reserved_ = 0;  // bytes that training takes besides
  int64_t parts_ = 1, largest_ = 0;
  bool checkpoints_ = false;
};

}  // namespace tape::train
