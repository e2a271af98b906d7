#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../autograd/tape/observer.h"
#include "../module/module.h"

namespace tape::nn {

/// While in scope, keeps the weights of the last call of each attention module of a model that runs on this thread:
///
///   const nn::AttentionWeights weights(model);
///   model(src, tgt);
///   const Tensor where = weights.of(*model.decoder->layers[0]->cross_attention);
///
/// They come from the calls themselves, fused or composed, and no other value changes. Seen are MultiHeadAttention,
/// DisentangledAttention and RelativeAttention; inspect::AttentionProbe has all steps and their gradients.
class AttentionWeights : public Observer {
 public:
  /// Of all modules in the model, or of those of it that are given: the others compute none.
  explicit AttentionWeights(Module& model, const std::vector<const Module*>& only = {});

  /// [B, H, Tq, Tk], before dropout, without history; undefined where the module was not called.
  Tensor of(const Module& attention) const;

 private:
  bool wants_attention_weights() override;
  void on_attention(const AttentionCall& call) override;

  std::map<std::string, const Module*> modules_;  // by the path they run under
  std::map<const Module*, Tensor> last_;
};

}  // namespace tape::nn
