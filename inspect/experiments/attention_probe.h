#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../../autograd/ops/attention/attention_call.h"
#include "../../autograd/tape/observer.h"
#include "../../nn/module/module.h"

namespace tape::inspect {

/// Tensors of one attention call, or their gradients; [B, H, ...] for all heads, [B, ...] for one.
struct AttentionTensors {
  Tensor query;          ///< [B, H, Tq, D]
  Tensor key;            ///< [B, H, Tk, D]
  Tensor value;          ///< [B, H, Tk, Dv]
  Tensor scores;         ///< [B, H, Tq, Tk], scale * query key^T
  Tensor mask;           ///< [B, H, Tq, Tk], added to the scores (including relative positions), -inf where masked;
                         ///< undefined if there is no mask
  Tensor probabilities;  ///< [B, H, Tq, Tk], softmax(scores + mask), before dropout
  Tensor context;        ///< [B, H, Tq, Dv], dropout(probabilities) value
};

/// One call of an attention module.
struct AttentionRecord {
  std::string module;          ///< "decoder.layers.1.cross_attention"
  int64_t heads = 1;           ///< number of heads, H; 1 in a record returned by head()
  AttentionTensors values;     ///< what the call computed, detached from the tape
  AttentionTensors gradients;  ///< from the last backward(); undefined before it

  /// Returns one head: values and gradients without their second axis. Throws Error (index) outside [0, heads).
  AttentionRecord head(int64_t h) const;
};

/// Whether AttentionProbe records the calls of this module.
bool is_attention(const nn::Module& module);

/// While in scope, records what the attention modules of a model compute on this thread and, after backward(), the
/// gradient of each step:
///
///   inspect::AttentionProbe probe(model);
///   sum(model(src, tgt)).backward();
///   const auto record = probe.record("decoder.layers.1.cross_attention");
///   std::cout << record.head(0).gradients.probabilities;
///
/// The probe changes no output and no gradient. It stores each call's operands and the gradient of its output; the
/// intermediate steps are computed on request by the reference implementation, on a separate tape.
/// Supports MultiHeadAttention, DisentangledAttention and RelativeAttention, fused and in a Composed scope.
class AttentionProbe : private Observer {
 public:
  /// Throws Error (config) if the model has no such module.
  explicit AttentionProbe(nn::Module& model);
  ~AttentionProbe() override;

  /// Whether the model has a module that a probe records.
  static bool supports(nn::Module& model);
  /// Paths of the modules called so far, each once, in the order of their first call.
  std::vector<std::string> modules() const;
  /// All calls in order: a module that ran twice has two records.
  std::vector<AttentionRecord> records() const;
  /// The last call of a module. Throws Error (config), listing the modules that were called, if this one was not.
  AttentionRecord record(const std::string& module) const;
  /// Discards all calls.
  void clear();
  /// Discards the gradients of all calls, so that they cannot be mistaken for those of a later backward.
  void forget_gradients();

 private:
  struct RecordedCall;
  void on_attention(AttentionCall& call) override;

  std::set<std::string> paths_;
  std::vector<std::shared_ptr<RecordedCall>> seen_;
};

}  // namespace tape::inspect
