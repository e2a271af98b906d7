#pragma once

#include <functional>
#include <memory>
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
  const Op* op = nullptr;
  Ref<Node> node;
  Tensors inputs, outputs;
  std::vector<Slot> slots;
};

/// A run of a function, kept step by step, and runs of it again with the inputs of single steps moved.
///
/// A node knows its gradient but not how to compute its values, so a step is computed anew by running the whole
/// function again: it records the same operations in the same order. Between the end of the operation before step k and
/// the recording of step k, a tensor that step k reads holds other values; whoever computes step k reads them. When the
/// step is recorded its outputs are taken, the tensor gets its values back and the outputs those of the first run. So
/// the change is local to step k, also where the tensor has other readers, and one run can move the inputs of every
/// step at once. What is read between the two operations without being recorded (x.detach() in the middle of an
/// expression) sees the moved values too: that is the one thing which is not told apart.
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
  /// function did not read the tensor that was moved. `moves` has an entry a step. Throws Error (graph) where the
  /// function records other operations than the first time.
  std::vector<Tensors> run(const std::vector<Move>& moves);
  /// The same for one step; the function is left as soon as it is recorded.
  Tensors run_one(size_t step, const Move& move);

 private:
  std::function<Tensors()> f_;
  const Probe probe_;
  std::vector<RecordedStep> steps_;
  Tensors results_;
};

}  // namespace tape::detail
