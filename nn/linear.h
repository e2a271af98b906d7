#pragma once

#include "../autograd/ops/loss/loss.h"
#include "../autograd/ops/product/linear_max.h"
#include "lora.h"

namespace tape::nn {

/// Options of Linear.
struct LinearOptions {
  bool bias = true;  ///< whether there is a bias
};

/// y = x weight^T + bias: x [..., in] -> [..., out]; weight [out, in], bias [out]. The weight is initialized Xavier
/// uniform (Glorot and Bengio 2010), the bias to zero. Throws Error (shape) if the inner size differs from the
/// weight's, Error (dtype) if the dtype does.
class Linear : public Layer<Linear> {
 public:
  using Options = LinearOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for sizes below 1.
  Linear(int64_t in, int64_t out, const LinearOptions& options = {});
  /// Returns y plus the outputs of the active adapters: x [..., in] -> [..., out].
  Tensor forward(const Tensor& x) const;
  /// Returns tape::cross_entropy(forward(x), target, options). Without adapters, the logits are never materialized in
  /// full (linear_cross_entropy()).
  Tensor cross_entropy(const Tensor& x, const Tensor& target, const CrossEntropyOptions& options = {}) const;
  /// Returns tape::max_with_index(forward(x), vocab_limit), without a gradient. Without adapters, the logits are never
  /// materialized in full (linear_max()).
  TopK max_with_index(const Tensor& x, int64_t vocab_limit = 0) const;
  /// Returns tape::keep_top_k(forward(x), k, vocab_limit), without a gradient. Without adapters it uses linear_top_k().
  Tensor top_k(const Tensor& x, int64_t k, int64_t vocab_limit = 0) const;
  std::string settings() const override;  ///< as in "512 -> 2048, no bias"

  /// Adds a low-rank adapter (lora.h) named "lora.<name>". Every call adds the outputs of all active adapters. Throws
  /// Error (config) if the name is taken or contains a dot, or if adapters are merged.
  Lora& add_adapter(const std::string& name, const LoraOptions& options = {});
  /// Returns the adapter of this name, or null.
  Lora* adapter(const std::string& name);
  /// Returns the names in the order in which the adapters were added.
  std::vector<std::string> adapter_names() const;
  /// Throws Error (config) if there is no adapter of this name, or if it is merged.
  void remove_adapter(const std::string& name);

  /// Adds the changes of the active adapters to the weight, so that calls cost no more than without adapters, and saves
  /// the original weight. Has no effect without adapters or if they are merged.
  void merge_adapters();
  /// Restores the original weight bit for bit; has no effect if nothing is merged.
  void unmerge_adapters();
  bool is_merged() const { return original_.defined(); }  ///< whether the weight includes the adapters

  Parameter weight,  ///< [out, in]
      bias;          ///< [out]; undefined without bias

 private:
  std::vector<std::unique_ptr<Child<Lora>>> adapters_;
  Tensor original_;  // the weight's values before merging
};

}  // namespace tape::nn
