#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../autograd/tape/observer.h"
#include "../module/module.h"

namespace tape::nn {

/// While in scope, saves the weights of the last call of each attention module of a model that runs on this thread:
///
///   const nn::AttentionWeights weights(model);
///   model(src, tgt);
///   const Tensor where = weights.of(*model.decoder->layers[0]->cross_attention);
///
/// The calls themselves provide them, fused or composed, and no other result changes. Covers MultiHeadAttention,
/// DisentangledAttention and RelativeAttention. inspect::AttentionProbe records all steps and their gradients.
class AttentionWeights : public Observer {
 public:
  /// Watches all attention modules of the model, or only the given ones; others do not compute weights.
  explicit AttentionWeights(Module& model, const std::vector<const Module*>& only = {});

  /// Returns [B, H, Tq, Tk], before dropout, detached; undefined if the module was not called.
  Tensor of(const Module& attention) const;

 private:
  bool wants_attention_weights() override;
  void on_attention(AttentionCall& call) override;

  std::map<std::string, const Module*> modules_;  // by module path
  std::map<const Module*, Tensor> last_;
};

}  // namespace tape::nn
