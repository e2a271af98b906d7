#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "../tape/tape.h"

namespace tape::detail {

/// One recorded operation of a run, with its values.
struct RecordedStep {
  /// A tensor among its inputs that needs a gradient, once, however often it is an input.
  struct Slot {
    Tensor tensor;
    std::vector<size_t> inputs;    // which inputs it is
    std::optional<size_t> source;  // the step that made it, or a leaf
    size_t output = 0;             // which output of that step
  };
  /// A floating input without an edge: what it holds must not depend on the function's variables. A leaf that was made
  /// during the run is one, too.
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
  bool custom = false;  // its forward function is observed
};

/// Whether a floating input has an edge to what was recorded or to a leaf that is older than the run.
bool has_edge(const Tensor& input, uint64_t start);
/// Whether two tensors hold the same bytes in the same shape.
bool same_values(const Tensor& a, const Tensor& b);
bool same_attributes(const Attributes& a, const Attributes& b);

/// A run of a function, kept step by step, and runs of it again with the inputs of single steps moved.
///
/// A node knows its gradient but not how to compute its values, so a step is computed anew by running the whole
/// function again: it records the same operations in the same order. Between the end of the operation before step k and
/// the recording of step k, a tensor that step k reads holds other values; whoever computes step k reads them. When the
/// step is recorded its outputs are taken, the tensor gets its values back and the outputs those of the first run. So
/// the change is local to step k, also where the tensor has other readers, and one run can move the inputs of every
/// step at once. The forward function of a custom operation is observed: there the tensor holds other values during
/// that function alone.
///
/// What is read between the two operations without being recorded (x.detach() in the middle of an expression) sees the
/// moved values too. A step that is given such a value is tainted: one of its constants or attributes is not that of
/// the first run. Nothing is taken of it.
class Replay {
 public:
  /// What is taken of a step when it is recorded: its outputs, or something that is computed of its node, which holds
  /// the values of that moment and no others afterwards. `first` is the step of the first run.
  using Probe = std::function<Tensors(const RecordedStep& first, const Node& node, TensorList outputs)>;
  static Tensors outputs_of(const RecordedStep& first, const Node& node, TensorList outputs);

  /// The first run, with what was recorded traced. `f` gives the same values each time.
  explicit Replay(std::function<Tensors()> f, Probe probe = outputs_of);

  const std::vector<RecordedStep>& steps() const { return steps_; }
  const Tensors& results() const { return results_; }

  /// Values that a slot of a step has for that step alone.
  struct Move {
    size_t slot = 0;
    Tensor values;  // undefined: the step is not moved
  };
  /// What the probe takes of each moved step, when its slot held the given values; empty for the others, and where the
  /// function did not read the tensor that was moved or the step is tainted. `moves` has an entry a step. Throws Error
  /// (graph) where the function records other operations than the first time.
  std::vector<Tensors> run(const std::vector<Move>& moves);
  /// The same for one step; the function is left as soon as it is recorded.
  Tensors run_one(size_t step, const Move& move);
  /// Which steps of the last run() were tainted.
  const std::vector<bool>& tainted() const { return tainted_; }
  /// Place in recording order at which the first run began.
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
