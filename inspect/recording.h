#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "../autograd/diagnose/tape_values.h"
#include "../autograd/tape/graph.h"
#include "../nn/hook_scope.h"
#include "../nn/layer_norm.h"
#include "attention_probe.h"
#include "explorer.h"
#include "tensor_json.h"

namespace tape::inspect {

/// The last call of a LayerNorm.
struct NormCall {
  std::string module;
  const nn::LayerNorm* layer = nullptr;
  Tensor input, output;      // the output on the tape
  Tensors gradients_output;  // one an output of the study, undefined where none arrives
  Tensors gradients_input;   // what the layer makes of them
};

/// A forward of a study and a backward of each of its outputs, with all that a page shows of them.
class Recording {
 public:
  Recording(const Study& study, int64_t side);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  struct Leaf {
    const Node* node = nullptr;  // null for a constant
    std::string name, kind;
    Tensor value;
    std::vector<Corner> gradients;
  };
  struct Operation {
    const Node* node = nullptr;
    const TapeValues::Step* step = nullptr;
    std::vector<std::vector<Corner>> gradients;  // of each of its outputs, one an output of the study
    std::vector<Corner> contributions;           // to each of its inputs, for the first output of the study
    std::optional<double> forward_us = {}, backward_us = {};
  };

  const Study& study() const { return study_; }
  const std::vector<PageOutput>& outputs() const { return outputs_; }
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  /// Places in the lists above, by node.
  size_t place_of(const Node* node) const { return places_.at(node); }
  /// The leaf that a constant input is; nothing for an undefined one.
  std::optional<size_t> constant(const Tensor& input) const;
  /// Every call of an attention module, the gradients of one output each.
  const std::vector<std::vector<AttentionRecord>>& attention() const { return attention_; }
  const std::vector<NormCall>& norms() const { return norms_; }

 private:
  void watch_modules();
  void forward();
  void list_leaves();
  void backward(size_t output);
  void note_gradients(size_t output, const Tensors& leaf_gradients);
  void note_norms(size_t output);

  const Study& study_;
  const int64_t side_;
  TapeValues tape_;
  std::unique_ptr<AttentionProbe> probe_;
  nn::HookScope hooks_;
  std::vector<PageOutput> outputs_;
  std::vector<Operation> operations_;
  std::vector<Leaf> leaves_;
  Tensors leaf_tensors_;  // of leaves that have gradients, in their order
  std::unordered_map<const Node*, size_t> places_;
  std::vector<std::pair<Tensor, size_t>> constants_;
  std::vector<std::vector<AttentionRecord>> attention_;
  std::vector<NormCall> norms_;
};

}  // namespace tape::inspect
