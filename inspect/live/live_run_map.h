#pragma once

#include <map>
#include <optional>

#include "../../autograd/ops/attention/attention_call.h"
#include "../experiments/patch.h"
#include "live_edits.h"

// Finds the operations that edits change, and changes them.
namespace tape::inspect {

/// A step of attention that an edit may change.
using AttentionStep = Tensor AttentionSteps::*;

/// The operations of one run of a study in a Composed scope.
class LiveRunMap {
 public:
  /// Runs the study.
  explicit LiveRunMap(const Study& study);

  struct Attention {
    std::string module;
    int64_t softmax = 0;                     ///< index of the operation that made the weights
    std::map<int64_t, AttentionStep> steps;  ///< by index of the operation
    /// Index of the operation that made a step.
    int64_t place_of(AttentionStep step) const;
  };

  const std::vector<RecordedOp>& operations() const { return operations_; }
  /// The last call of a module. Throws Error (config) naming the edit and the modules that have attention weights.
  const Attention& attention(const LiveEdit& edit) const;
  /// The attention module and its step that an operation made, if any.
  std::optional<std::pair<std::string, AttentionStep>> attention_step(int64_t place) const;

 private:
  class Recorder;
  std::vector<RecordedOp> operations_;
  std::vector<Attention> attention_;
};

/// Index of the edit's element in row-major order; `of` names the tensor in errors.
int64_t flat_index(const LiveEdit& edit, const Shape& shape, const std::string& of);
/// Returns a copy with another value of one element.
Tensor with_element(const Tensor& x, int64_t flat, double value);

/// Each throws Error (config or index) that names the edit's member.
/// @{
OutputEdit value_edit(const LiveRunMap& run, const LiveEdit& edit);
OutputEdit position_edit(const Study& study, const LiveRunMap& run, const LiveEdit& edit);
/// A score, a weight, a mask, a temperature or an ablated head. `all`: the other masks of the run.
OutputEdit attention_edit(const LiveRunMap& run, const LiveEdit& edit, const std::vector<LiveEdit>& all);
/// @}

/// Edits of one attention module, to apply when its steps are computed again.
struct AttentionEdits {
  std::vector<std::pair<AttentionStep, OutputEdit>> steps;
  std::vector<LiveEdit> hidden;  ///< masks
};

/// While in scope, edits outputs of operations, and the steps of AttentionCalls.
class RunEdits : public OutputEdits {
 public:
  RunEdits(std::vector<OutputEdit> outputs, std::map<std::string, AttentionEdits> attention)
      : OutputEdits(std::move(outputs)), attention_(std::move(attention)) {}

 private:
  void on_attention(AttentionCall& call) override;

  const std::map<std::string, AttentionEdits> attention_;
};

}  // namespace tape::inspect
