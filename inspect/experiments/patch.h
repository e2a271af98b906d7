#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../../autograd/tape/observer.h"
#include "../../nn/module/tensor_swap.h"

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

/// A change of the first output y of one recorded operation, which all later operations read.
struct OutputEdit {
  int64_t place = 0;                                  // index of the operation
  std::function<Tensor(const Tensor& y)> value = {};  // returns the new values, of the same shape and dtype
  /// Returns the gradient of y, given that of the new values; empty: the same, as for y + constant.
  std::function<Tensor(const Tensor& gradient)> gradient = {};
  /// Adds to the gradients of the operation's inputs what the new values contribute to them directly; empty: nothing.
  std::function<void(const Tensor& gradient, Tensors& inputs)> add_gradients = {};
};

/// Returns an edit that replaces y by given values, as y + constant does.
OutputEdit replaced_output(int64_t place, Tensor values);
/// Returns an edit that multiplies y by factors, which are broadcast to it.
OutputEdit scaled_output(int64_t place, Tensor factors);
/// Returns an edit that sets the weights [1, H, Tq, Tk] of a head to 0 for all keys.
OutputEdit ablated_head(int64_t place, const Tensor& weights, int64_t head);
/// Returns factors [1, H, 1, 1] of one head, or of all; the other heads' are 1.
Tensor head_factors(const Tensor& weights, std::optional<int64_t> head, double factor);

/// While in scope, edits outputs of operations, counted from the last start(). The tape stays valid: outputs that an
/// operation saved keep their original values, its gradient function gets the gradient of its original output, and
/// everything later is differentiated at the new values.
class OutputEdits : public Observer {
 public:
  /// Edits of one place are applied in their order. watched: index of the operation whose first output is stored, or
  /// -1.
  explicit OutputEdits(std::vector<OutputEdit> edits, int64_t watched = -1)
      : edits_(std::move(edits)), watched_(watched) {}

  /// Begins to count again, for another run.
  void start() { next_ = 0; }
  /// Number of operations recorded since.
  int64_t count() const { return next_; }
  const Tensor& seen() const { return seen_; }

 private:
  void on_node(Node& node, TensorList outputs) override;

  const std::vector<OutputEdit> edits_;
  const int64_t watched_;
  Tensor seen_;
  int64_t next_ = 0;
};

}  // namespace tape::inspect
