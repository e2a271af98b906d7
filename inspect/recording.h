#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "../autograd/diagnose/tape_values.h"
#include "../autograd/tape/graph.h"
#include "../nn/attention/relative_attention.h"
#include "../nn/module/hook_scope.h"
#include "attention_probe.h"
#include "explorer.h"
#include "layer_kind.h"
#include "tensor_json.h"

namespace tape::inspect {

/// The last call of a layer that a page works out in numbers; of a Rotary the first.
struct LayerCall {
  std::string module;
  LayerKind kind;
  Tensor input = {}, output = {};  // the output on the tape
  Tensors gradients_output = {};   // one an output of the study, undefined where none arrives
  Tensors gradients_input = {};    // what the layer makes of them
};

/// A RelativeAttention, and what its two tables get of each output's gradient.
struct RelativeTables {
  std::string module;
  const nn::RelativeAttention* layer = nullptr;
  Tensors key_gradients = {}, value_gradients = {};  // undefined where none arrives
};

/// What the places along an axis are.
struct Axis {
  enum class Kind { other, tokens, heads, vocabulary };
  Kind kind = Kind::other;
  size_t text = 0;    // of tokens: which of the study's texts
  int64_t start = 0;  // of tokens: the place of the first in the text
};
using Axes = std::vector<Axis>;

/// How much of each tensor is kept.
struct KeepOptions {
  int64_t elements = 0;                  // at most, of each tensor
  std::vector<std::string> detail = {};  // patterns of modules of which all is kept
};

/// A forward of a study and a backward of each of its outputs, with all that a page shows of them.
class Recording {
 public:
  Recording(const Study& study, const KeepOptions& options);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  struct Leaf {
    const Node* node = nullptr;  // null for a constant
    std::string name, kind;
    Tensor value;
    Excerpt shown = {};
    std::vector<Excerpt> gradients;
  };
  struct Operation {
    const Node* node = nullptr;
    const TapeValues::Step* step = nullptr;
    std::vector<Axes> axes = {};                      // of each of its outputs
    std::vector<Excerpt> values = {};                 // the same
    std::vector<std::vector<Excerpt>> gradients;      // of each of its outputs, one an output of the study
    std::vector<std::vector<Excerpt>> contributions;  // to each of its inputs, one an output of the study
    std::optional<double> forward_us = {};
    std::vector<std::optional<double>> backward_us = {};  // one an output of the study
  };

  /// Keeps whole what stands in the page in any case.
  void keep_whole(const Tensors& beside);

  const Study& study() const { return study_; }
  /// Whether all of a module's tensors are kept.
  bool is_detailed(const std::string& module) const;
  const std::vector<PageOutput>& outputs() const { return outputs_; }
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  /// Places in the lists above, by node.
  size_t place_of(const Node* node) const { return places_.at(node); }
  /// The leaf that a constant input is; nothing for an undefined one.
  std::optional<size_t> constant(const Tensor& input) const;
  /// Every call of an attention module, the gradients of one output each.
  const std::vector<std::vector<AttentionRecord>>& attention() const { return attention_; }
  const std::vector<LayerCall>& layers() const { return layers_; }
  const std::vector<RelativeTables>& relatives() const { return relatives_; }
  /// Of each output that has a prediction: what each output's gradient is with respect to its logits.
  const std::vector<Tensors>& score_gradients() const { return score_gradients_; }

 private:
  void watch_modules();
  void watch(const std::string& path, nn::Module& module);
  void forward();
  void list_leaves();
  void backward(size_t output);
  void note_gradients(const Tensors& leaf_gradients);
  void note_scores();
  void note_layers();
  void note_relatives(const Tensors& leaf_gradients);
  Tensor gradient_of(const Tensor& tensor) const;
  void name_axes();
  void check_detail() const;
  /// What is kept of a tensor in a module; `axes` of it, or of what it is the gradient of.
  Excerpt excerpt(const Tensor& tensor, const std::string& module, Keep keep, const Axes* axes = nullptr) const;
  Excerpt contribution(const Operation& operation, size_t input) const;

  const Study& study_;
  const KeepOptions keep_;
  std::vector<int64_t> vocabulary_;  // what is kept of scores; all where empty
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
  std::vector<LayerCall> layers_;
  std::vector<RelativeTables> relatives_;
  std::vector<Tensors> score_gradients_;
};

}  // namespace tape::inspect
