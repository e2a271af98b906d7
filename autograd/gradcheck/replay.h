#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "../tape/tape.h"

namespace tape::detail {

/// One recorded operation of a run, with its values.
struct RecordedStep {
  /// An input tensor that needs a gradient, listed once even if it is several inputs.
  struct Slot {
    Tensor tensor;
    std::vector<size_t> inputs;    // positions among the inputs
    std::optional<size_t> source;  // the step that produced it; empty for a leaf
    size_t output = 0;             // index among the outputs of that step
  };
  /// A floating-point input without an edge, whose values must not depend on the function's variables. This includes
  /// leaves created during the run.
  struct Constant {
    size_t input;
    Tensor tensor;
    Tensor values;  // a copy
  };
  const Op* op = nullptr;
  Ref<Node> node;
  Tensors inputs, outputs;
  std::vector<Slot> slots;
  std::vector<Constant> constants;
  bool custom = false;  // whether its forward function is observed
};

/// Whether a floating-point input has an edge to a recorded step or to a leaf that is older than the run.
bool has_edge(const Tensor& input, uint64_t start);
/// Whether two tensors have the same shape and the same bytes.
bool same_values(const Tensor& a, const Tensor& b);
bool same_attributes(const Attributes& a, const Attributes& b);

/// Saves a run of a function step by step, and repeats it with the inputs of single steps moved.
///
/// A node has a gradient function but cannot recompute its values, so a step is recomputed by running the whole
/// function again, which records the same operations in the same order. Between the end of the operation before step k
/// and the recording of step k, a tensor that step k reads has other values, which the computation of step k picks up.
/// When the step is recorded, its outputs are taken, the tensor gets its own values back, and the outputs get those of
/// the first run. So the change is local to step k, even if the tensor has other readers, and one run can move the
/// inputs of every step at once. The forward function of a custom operation is observed: its tensor has other values
/// only while that function runs.
///
/// Unrecorded reads between the two operations (x.detach() in the middle of an expression) see the moved values too. A
/// step that uses such a value is tainted, because one of its constants or attributes differs from the first run, and
/// is ignored.
class Replay {
 public:
  /// Returns what to take from a step when it is recorded: its outputs, or something computed from its node, whose
  /// values are valid only at that moment. `first` is the step of the first run.
  using Probe = std::function<Tensors(const RecordedStep& first, const Node& node, TensorList outputs)>;
  static Tensors outputs_of(const RecordedStep& first, const Node& node, TensorList outputs);

  /// Does the first run, with a Trace. `f` must return the same values each time.
  explicit Replay(std::function<Tensors()> f, Probe probe = outputs_of);

  const std::vector<RecordedStep>& steps() const { return steps_; }
  const Tensors& results() const { return results_; }

  /// Values that a slot of a step has for that step only.
  struct Move {
    size_t slot = 0;
    Tensor values;  // undefined: the step is not moved
  };
  /// Returns the probe's results for each moved step, with the given values in its slot; empty for other steps, and if
  /// the function did not read the moved tensor or the step is tainted. `moves` has one entry per step. Throws Error
  /// (graph) if the function records other operations than in the first run.
  std::vector<Tensors> run(const std::vector<Move>& moves);
  /// The same for one step; the function is left as soon as that step is recorded.
  Tensors run_one(size_t step, const Move& move);
  /// Returns which steps of the last run() were tainted.
  const std::vector<bool>& tainted() const { return tainted_; }
  /// Sequence number at which the first run began.
  uint64_t start() const { return start_; }

 private:
  std::function<Tensors()> f_;
  const Probe probe_;
  std::vector<RecordedStep> steps_;
  Tensors results_;
  std::vector<bool> tainted_;
  uint64_t start_ = 0;
};

}  // namespace tape::detail
