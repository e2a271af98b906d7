#pragma once

#include <functional>
#include <string>

#include "../../nn/module/module.h"
#include "../../optim/adam.h"
#include "../trainer/loader.h"

namespace tape::train {

/// Makes the steps of a run fit into a memory limit, which applies to all tensors during its lifetime (afterwards the
/// limit is physical memory again). It works by trial: a batch's memory use is known only once its gradient was
/// computed.
class MemoryFit {
 public:
  /// Reserves memory within the limit for Adam's moments and a moving average of the weights. `accumulate` is the
  /// number of batches per update: with several, gradients stay in memory during the next batch.
  MemoryFit(int64_t limit, nn::Module& model, bool averages, optim::MomentDtype moments, int64_t accumulate);
  ~MemoryFit();
  MemoryFit(const MemoryFit&) = delete;
  MemoryFit& operator=(const MemoryFit&) = delete;

  /// Tries batches of the first epoch (a sample of all lengths) as they are, then with the layers recomputing their
  /// activations, then also split into 2, 4, 8, ... parts, until the gradient of each can be computed. Leaves the model
  /// without gradients, the source at its beginning, and the random streams unchanged. Throws Error (out_of_memory) if
  /// even single examples do not fit.
  void find(BatchSource& source, bool checkpoints, const std::function<void(const void* batch)>& learn);
  int64_t parts() const { return parts_; }
  /// "memory limit 512.0 MiB: layers recompute their activations, batches are split into 4 parts"
  std::string text() const;

 private:
  bool fits(BatchSource& source, const std::function<void(const void* batch)>& learn);

  const int64_t limit_;
  nn::Module& model_;
  const bool accumulates_;
  int64_t reserved_ = 0;  // bytes that training needs in addition
  int64_t parts_ = 1, largest_ = 0;
  bool checkpoints_ = false;
};

}  // namespace tape::train
