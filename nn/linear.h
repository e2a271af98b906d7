#pragma once

#include "../autograd/ops/loss/loss.h"
#include "../autograd/ops/product/linear_max.h"
#include "lora.h"

namespace tape::nn {

struct LinearOptions {
  bool bias = true;
};

/// y = x weight^T + bias: x [..., in] -> [..., out]; weight [out, in], bias [out]. The weight starts Xavier uniform
/// (Glorot and Bengio 2010), the bias at zero. Error (shape) for another inner size than the weight's, (dtype) for
/// another dtype.
class Linear : public Layer<Linear> {
 public:
  using Options = LinearOptions;

  /// Error (config) for sizes below 1.
  Linear(int64_t in, int64_t out, const LinearOptions& options = {});
  Tensor forward(const Tensor& x) const;
  /// tape::cross_entropy(forward(x), target, options); large scores are never whole (linear_cross_entropy()), unless
  /// there are adapters.
  Tensor cross_entropy(const Tensor& x, const Tensor& target, const CrossEntropyOptions& options = {}) const;
  /// tape::max_with_index(forward(x), words) and tape::keep_top_k(forward(x), k, words), without a gradient; by
  /// linear_max() and linear_top_k(), unless there are adapters.
  TopK max_with_index(const Tensor& x, int64_t words = 0) const;
  Tensor top_k(const Tensor& x, int64_t k, int64_t words = 0) const;
  std::string settings() const override;

  /// Adds a change of low rank (lora.h) under the name "lora.<name>", which takes part in every call while it is
  /// active; of several, the sum does. Error (config) for a name that is taken or holds a dot, and while some are
  /// merged.
  Lora& add_adapter(const std::string& name, const LoraOptions& options = {});
  /// Null where there is none of this name.
  Lora* adapter(const std::string& name);
  std::vector<std::string> adapter_names() const;
  /// Error (config) where there is none of this name, and while it is merged.
  void remove_adapter(const std::string& name);

  /// Gives the weight the changes of the active adapters, one after another, so that calls cost what they do without;
  /// what was the weight is kept, and unmerge_adapters() brings it back bit for bit. Neither does anything the second
  /// time.
  void merge_adapters();
  void unmerge_adapters();
  bool is_merged() const { return original_.defined(); }

  Parameter weight, bias;

 private:
  std::vector<std::unique_ptr<Child<Lora>>> adapters_;
  Tensor original_;  // the weight's values in front of merging
};

}  // namespace tape::nn
