#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../autograd/tape/observer.h"
#include "../nn/module/tensor_swap.h"

namespace tape::inspect {

/// The numbers of a tensor of any dtype, row by row.
std::vector<double> numbers_of(const Tensor& tensor);

/// The parameters and floating buffers of a module in f64, each by the tensor that it stands for; variables where that
/// is one.
std::unordered_map<const TensorImpl*, Tensor> in_double(const nn::Module& module);

/// While in scope, a module runs in f64. Nothing happens without a module.
class InDouble {
 public:
  explicit InDouble(nn::Module* module);

 private:
  std::optional<nn::TensorSwap> swap_;
};

/// What one recorded operation gave.
struct RecordedValue {
  std::string module = {}, operation = {};
  bool view = false;                                // of its first input
  bool weighs = false;                              // as its operation's traits say
  Tensor input = {};                                // the first
  int64_t source = -1;                              // which operation made that one; -1: none that was recorded
  Tensor output = {};                               // the first, on the tape
  std::vector<double> value = {};                   // of the output
  std::vector<std::vector<double>> gradients = {};  // of outputs of a study; empty where none arrives
};

/// Whether it gave the attention weights of one text, [1, H, Tq, Tk].
bool are_weights(const RecordedValue& step);

/// While in scope, keeps all operations that are recorded, in their order.
class RecordedValues : public Observer {
 public:
  std::vector<RecordedValue>& all() { return steps_; }

 private:
  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override;
  void on_node(Node& node, TensorList outputs) override;

  std::vector<RecordedValue> steps_;
  std::unordered_map<const TensorImpl*, int64_t> made_;
};

/// While in scope, the first output of the operation that is recorded at `place` (counted from 0; -1: of none) holds
/// other values, which all that follows reads. The tape of such a run is good for values alone: what an operation saved
/// of its own output is what it was.
class Patch : public Observer {
 public:
  /// watched: the operation whose first output is kept, or -1.
  Patch(int64_t place, Tensor values, int64_t watched) : place_(place), watched_(watched), values_(std::move(values)) {}

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
