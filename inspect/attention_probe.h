#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../autograd/ops/attention/attention_call.h"
#include "../autograd/tape/observer.h"
#include "../nn/module/module.h"

namespace tape::inspect {

/// What one call of attention computed, or the gradient of each; [B, H, ...] of all heads, [B, ...] of one.
struct AttentionTensors {
  Tensor query;          ///< [B, H, Tq, D]
  Tensor key;            ///< [B, H, Tk, D]
  Tensor value;          ///< [B, H, Tk, Dv]
  Tensor scores;         ///< [B, H, Tq, Tk], scale * query key^T
  Tensor mask;           ///< [B, H, Tq, Tk], what is added to the scores (relative positions too), -inf where they are
                         ///< hidden; undefined without
  Tensor probabilities;  ///< [B, H, Tq, Tk], softmax(scores + mask), before dropout
  Tensor context;        ///< [B, H, Tq, Dv], dropout(probabilities) value
};

/// One call of an attention module.
struct AttentionRecord {
  std::string module;  ///< "decoder.layers.1.cross_attention"
  int64_t heads = 1;
  AttentionTensors values;
  AttentionTensors gradients;  ///< of the last backward(); undefined tensors before it

  /// One head: values and gradients without their second axis. Error (index) outside [0, heads).
  AttentionRecord head(int64_t h) const;
};

/// Whether a module is one whose calls a probe sees.
bool is_attention(const nn::Module& module);

/// While in scope, records what the attention modules of a model compute on this thread, and after backward() the
/// gradient of each step:
///
///   inspect::AttentionProbe probe(model);
///   sum(model(src, tgt)).backward();
///   const auto record = probe.record("decoder.layers.1.cross_attention");
///   std::cout << record.head(0).gradients.probabilities;
///
/// It changes no value, of the output or of any gradient: it keeps the operands of each call and the gradient that
/// arrives at its output, and computes the steps between by the composed twin when it is asked, on a tape of its own.
/// Sees MultiHeadAttention, DisentangledAttention and RelativeAttention, fused and in a Composed scope.
class AttentionProbe : private Observer {
 public:
  /// Error (config) where the model has no such module.
  explicit AttentionProbe(nn::Module& model);
  ~AttentionProbe() override;

  /// Whether a model has a module that a probe sees.
  static bool sees(nn::Module& model);
  /// The modules seen, each once, in the order of their first call.
  std::vector<std::string> modules() const;
  /// Every call, in order: a module that ran twice has two records.
  std::vector<AttentionRecord> records() const;
  /// The last call of a module. Error (config) where it was not called, with the names of those that were.
  AttentionRecord record(const std::string& module) const;
  /// Forgets all calls.
  void clear();
  /// Forgets the gradients of the calls, so that those of another backward cannot be taken for them.
  void forget_gradients();

 private:
  struct Seen;
  void on_attention(const AttentionCall& call) override;

  std::set<std::string> paths_;
  std::vector<std::shared_ptr<Seen>> seen_;
};

}  // namespace tape::inspect
