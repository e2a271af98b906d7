#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "../../autograd/diagnose/tape_values.h"
#include "../../autograd/tape/graph.h"
#include "../../nn/attention/relative_attention.h"
#include "../../nn/module/hook_scope.h"
#include "../experiments/attention_probe.h"
#include "explorer.h"
#include "layer_kind.h"
#include "tensor_json.h"

namespace tape::inspect {

/// The last call of a layer whose computation a page shows in numbers; the first call of a Rotary.
struct LayerCall {
  std::string module;
  LayerKind kind;
  Tensor input = {}, output = {};  // the output is on the tape
  Tensors gradients_output = {};   // one per output of the study, undefined if it receives none
  Tensors gradients_input = {};    // computed from them by the layer's backward
};

/// A RelativeAttention and the gradients of its two tables.
struct RelativeTables {
  std::string module;
  const nn::RelativeAttention* layer = nullptr;
  Tensors key_gradients = {}, value_gradients = {};  // one per output of the study, undefined if there is none
};

/// What an axis indexes.
struct Axis {
  enum class Kind { other, tokens, heads, vocabulary };
  Kind kind = Kind::other;
  size_t text = 0;    // for tokens: index of the text in the study
  int64_t start = 0;  // for tokens: position of the first one in the text
};
using Axes = std::vector<Axis>;

/// How much of each tensor is stored.
struct KeepOptions {
  int64_t elements = 0;                  // at most, per tensor
  std::vector<std::string> detail = {};  // patterns of modules whose tensors are stored in full
};

/// A forward pass of a study and a backward pass of each of its outputs, with everything that a page shows of them.
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
    std::vector<Axes> axes = {};                      // one per output of the operation
    std::vector<Excerpt> values = {};                 // likewise
    std::vector<std::vector<Excerpt>> gradients;      // [output of the operation][output of the study]
    std::vector<std::vector<Excerpt>> contributions;  // [input of the operation][output of the study]
    std::optional<double> forward_us = {};
    std::vector<std::optional<double>> backward_us = {};  // one per output of the study
  };

  /// Marks tensors that the page stores elsewhere in full: they cost nothing more and are not truncated.
  void keep_whole(const Tensors& beside);

  const Study& study() const { return study_; }
  /// Whether all tensors of a module are stored in full.
  bool is_detailed(const std::string& module) const;
  const std::vector<PageOutput>& outputs() const { return outputs_; }
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  /// Index of a node in operations() or leaves().
  size_t index_of(const Node* node) const { return indices_.at(node); }
  /// Index of the leaf for a constant input; nullopt if the input is undefined.
  std::optional<size_t> constant(const Tensor& input) const;
  /// The last call of every attention module; one list per output of the study, whose gradients it has.
  const std::vector<std::vector<AttentionRecord>>& attention() const { return attention_; }
  const std::vector<LayerCall>& layers() const { return layers_; }
  const std::vector<RelativeTables>& relatives() const { return relatives_; }
  /// For each output with a prediction: the gradient of each output with respect to its logits.
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
  /// The part of a module's tensor to store; `axes` are those of the tensor, or of the tensor it is the gradient of.
  Excerpt excerpt(const Tensor& tensor, const std::string& module, Keep keep, const Axes* axes = nullptr) const;
  Excerpt contribution(const Operation& operation, size_t input) const;

  const Study& study_;
  const KeepOptions keep_;
  std::vector<int64_t> vocabulary_;  // vocabulary indices stored of scores; all if empty
  TapeValues tape_;
  std::unique_ptr<AttentionProbe> probe_;
  nn::HookScope hooks_;
  std::vector<PageOutput> outputs_;
  std::vector<Operation> operations_;
  std::vector<Leaf> leaves_;
  Tensors leaf_tensors_;  // leaves with gradients, in the order of leaves_
  std::unordered_map<const Node*, size_t> indices_;
  std::vector<std::pair<Tensor, size_t>> constants_;
  std::vector<std::vector<AttentionRecord>> attention_;
  std::vector<LayerCall> layers_;
  std::vector<RelativeTables> relatives_;
  std::vector<Tensors> score_gradients_;
};

}  // namespace tape::inspect
