#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../autograd/tape/observer.h"
#include "../nn/module/tensor_swap.h"

namespace tape::inspect {

/// The elements of a tensor of any dtype, in row-major order.
std::vector<double> values_of(const Tensor& tensor);

/// Returns the parameters and floating-point buffers of a module in f64, keyed by the original tensor; they require
/// gradients where the original does.
std::unordered_map<const TensorImpl*, Tensor> f64_parameters(const nn::Module& module);

/// While in scope, the module runs in f64. Does nothing for null.
class RunInF64 {
 public:
  explicit RunInF64(nn::Module* module);

 private:
  std::optional<nn::TensorSwap> swap_;
};

/// One recorded operation and its output.
struct RecordedOp {
  std::string module = {}, operation = {};
  bool view = false;                                // whether it is a view of its first input
  bool normalizes = false;                          // from the operation's traits
  Tensor input = {};                                // the first input
  int64_t source = -1;                              // index of the operation that made it; -1 if not recorded
  Tensor output = {};                               // the first output, on the tape
  std::vector<double> value = {};                   // elements of the output
  std::vector<std::vector<double>> gradients = {};  // one per output of the study; empty if it receives none
};

/// Whether its output is the attention weights of one text, [1, H, Tq, Tk].
bool is_attention_weights(const RecordedOp& step);

/// While in scope, stores all recorded operations in order.
class OpRecorder : public Observer {
 public:
  std::vector<RecordedOp>& all() { return steps_; }

 private:
  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override;
  void on_node(Node& node, TensorList outputs) override;

  std::vector<RecordedOp> steps_;
  std::unordered_map<const TensorImpl*, int64_t> made_;
};

/// While in scope, replaces the first output of the operation recorded at index `place` (-1: none) with other values,
/// which all later operations read. The tape of such a run is valid for values only: outputs that an operation saved
/// keep their original values.
class OutputOverride : public Observer {
 public:
  /// watched: index of the operation whose first output is stored, or -1.
  OutputOverride(int64_t place, Tensor values, int64_t watched)
      : place_(place), watched_(watched), values_(std::move(values)) {}

  int64_t count() const { return next_; }
  const Tensor& seen() const { return seen_; }

 private:
  void on_node(Node& node, TensorList outputs) override;

  const int64_t place_, watched_;
  const Tensor values_;
  Tensor seen_;
  int64_t next_ = 0;
};

}  // namespace tape::inspect
