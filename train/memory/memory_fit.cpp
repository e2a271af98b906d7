#include "train/memory/memory_fit.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/memory.h"
#include "autograd/random.h"
#include "base/error.h"
#include "base/number_text.h"
#include "base/physical_memory.h"
#include "nn/transformer/layer_checkpoints.h"

namespace tape::train {

MemoryFit::MemoryFit(int64_t limit, nn::Module& model, bool averages, optim::MomentDtype moments, int64_t accumulate)
    : limit_(limit), model_(model), accumulates_(accumulate > 1) {
  if (limit < 1) raise(ErrorKind::config, "train: memory_limit must be at least 1 byte, got {}", limit);
  const int64_t each = (moments == optim::MomentDtype::bf16 ? 4 : 8) + (averages ? 4 : 0);
  reserved_ = each * model.trainable_parameter_count();
}

MemoryFit::~MemoryFit() { set_memory_limit(physical_memory()); }

/// Whether the gradient of every batch tried can be computed within the limit.
bool MemoryFit::fits(BatchSource& source, const std::function<void(const void* batch)>& learn) {
  constexpr int64_t kTried = 8;
  source.divide(parts_);
  source.seek({});
  const int64_t batches = source.next().batches, step = std::max<int64_t>(batches / kTried, 1);
  bool all = true;
  try {
    // With accumulation, a batch also has to fit besides the gradients of those before it, hence the second round.
    const int64_t end = accumulates_ ? 2 * batches : batches;
    for (int64_t batch = 0; batch < end; batch += step) {
      source.seek({.epoch = 0, .batch = batch % batches});
      for (int64_t part = 0; part < parts_; ++part) {
        const BatchSource::Item item = source.next();
        largest_ = std::max(largest_, std::ssize(item.indices));
        if (item.batch) learn(item.batch.get());
      }
      if (!accumulates_) model_.zero_grad();
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    all = false;
  }
  model_.zero_grad();
  if (!all) empty_cache();
  source.seek({});
  return all;
}

void MemoryFit::find(BatchSource& source, bool checkpoints, const std::function<void(const void* batch)>& learn) {
  const ForkRandom random;
  set_memory_limit(std::max<int64_t>(limit_ - reserved_, 1));
  checkpoints_ = checkpoints;
  bool found = fits(source, learn);
  if (!found && !checkpoints_ && nn::set_layer_checkpoints(model_, true) > 0) {
    checkpoints_ = true;
    found = fits(source, learn);
  }
  while (!found && parts_ < largest_) {
    parts_ *= 2;
    found = fits(source, learn);
  }
  set_memory_limit(limit_);
  if (!found)
    raise(ErrorKind::out_of_memory, "train: a step with one example at a time does not fit into the memory limit of {}",
          format_bytes(static_cast<double>(limit_)));
}

std::string MemoryFit::text() const {
  return fmt::format("memory limit {}: {}, {}", format_bytes(static_cast<double>(limit_)),
                     checkpoints_ ? "layers recompute their activations" : "layers keep their activations",
                     parts_ == 1 ? "batches are not split" : fmt::format("batches are split into {} parts", parts_));
}

}  // namespace tape::train
