#include "inspect/explorer/parts.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "autograd/tape/op.h"

namespace tape::inspect {
namespace {

using Sizes = std::vector<int64_t>;

/// Sizes and known axes of one operand.
struct Named {
  Sizes sizes;
  Axes axes;
};

size_t nonnegative_axis(const Sizes& sizes, int64_t axis) {
  return static_cast<size_t>(axis < 0 ? axis + std::ssize(sizes) : axis);
}

/// Keeps axes whose index, counted from the last as in broadcasting, and size do not change.
void keep_in_place(Axes& to, const Sizes& sizes, const std::vector<Named>& inputs) {
  for (const Named& input : inputs)
    for (size_t back = 1; back <= std::min(sizes.size(), input.sizes.size()); ++back) {
      Axis& axis = to[to.size() - back];
      if (axis.kind == Axis::Kind::other && sizes[sizes.size() - back] == input.sizes[input.sizes.size() - back])
        axis = input.axes[input.axes.size() - back];
    }
}

/// A reshape leaves an axis alone if its size and the number of elements before it do not change.
void keep_unsplit(Axes& to, const Sizes& sizes, const Named& input) {
  int64_t before = 1;
  for (size_t axis = 0; axis < sizes.size(); before *= sizes[axis++]) {
    int64_t passed = 1;
    for (size_t from = 0; from < input.sizes.size(); passed *= input.sizes[from++])
      if (passed == before && input.sizes[from] == sizes[axis] && sizes[axis] > 1) to[axis] = input.axes[from];
  }
}

void product(Axes& to, const Named& a, const Named& b, const Attributes& attributes) {
  if (a.sizes.size() < 2 || b.sizes.size() < 2 || to.size() < 2) return;
  const auto axis = [](const Named& of, const Attributes& given, const char* flag, bool rows) {
    const bool turned = given.get<bool>(flag).value_or(false);
    return of.axes[of.axes.size() - (rows != turned ? 2 : 1)];
  };
  to[to.size() - 2] = axis(a, attributes, "transpose_a", true);
  to[to.size() - 1] = axis(b, attributes, "transpose_b", false);
  for (size_t back = 3; back <= std::min(to.size(), a.axes.size()); ++back)
    to[to.size() - back] = a.axes[a.axes.size() - back];
}

/// A sum, mean or maximum over some axes, which remain with size 1 or are removed.
void reduction(Axes& to, const Named& input, const std::vector<int64_t>& axes) {
  size_t next = 0;
  const bool kept = to.size() == input.sizes.size();
  for (size_t axis = 0; axis < input.sizes.size(); ++axis) {
    const bool gone = std::any_of(axes.begin(), axes.end(),
                                  [&](int64_t reduced) { return nonnegative_axis(input.sizes, reduced) == axis; });
    if (!gone && next < to.size()) to[next] = input.axes[axis];
    if (!gone || kept) ++next;
  }
}

/// A slice of tokens is identified by its start.
void slice_of(Axes& to, const Sizes& sizes, const Named& input, const Attributes& attributes) {
  keep_in_place(to, sizes, {input});
  const size_t axis = nonnegative_axis(sizes, attributes.get<int64_t>("axis").value_or(0));
  if (axis >= to.size() || input.axes[axis].kind != Axis::Kind::tokens) return;
  if (attributes.get<int64_t>("step").value_or(1) != 1) return void(to[axis] = {});
  to[axis] = input.axes[axis];
  to[axis].start += attributes.get<int64_t>("start").value_or(0);
}

class TapeAxes {
 public:
  TapeAxes(const Study& study, const std::vector<Recording::Operation>& operations,
           const std::vector<PageOutput>& outputs)
      : study_(study), operations_(operations) {
    for (size_t i = 0; i < operations.size(); ++i) places_[operations[i].node] = i;
    for (const PageOutput& output : outputs)
      if (output.prediction) scores_.push_back(output.prediction->logits);
    if (!study.module) return;
    for (const auto& [path, module] : study.module->named_modules()) {
      if (is_attention(*module)) attentions_.insert(path);
      if (dynamic_cast<const nn::PatchEmbeddings*>(module) != nullptr) patches_.insert(path);
    }
  }

  std::vector<std::vector<Axes>> all() {
    for (const Recording::Operation& operation : operations_) {
      known_.emplace_back();
      for (size_t i = 0; i < operation.node->outputs.size(); ++i) known_.back().push_back(output(operation, i));
    }
    return known_;
  }

 private:
  Axes output(const Recording::Operation& operation, size_t place) {
    const Node& node = *operation.node;
    const Sizes sizes = node.outputs[place].shape.to_vector();
    std::vector<Named> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(operand(operation, i));
    Axes axes(sizes.size());
    const auto list = node.attributes.get<std::vector<int64_t>>("axes");
    switch (node.op->traits().axes) {
      case AxesFrom::lookup:
        lookup_axes(axes, sizes, module_of(node));
        break;
      case AxesFrom::product:
        product(axes, inputs[0], inputs[1], node.attributes);
        break;
      case AxesFrom::permutation:
        for (size_t axis = 0; axis < axes.size(); ++axis)
          axes[axis] = inputs[0].axes[nonnegative_axis(inputs[0].sizes, list.value()[axis])];
        break;
      case AxesFrom::reshape:
        keep_unsplit(axes, sizes, inputs[0]);
        // The joined columns of all heads become [B, T, H, D].
        if (sizes.size() == 4 && inputs[0].sizes.size() == 3 && attentions_.contains(module_of(node)))
          axes[2] = {.kind = Axis::Kind::heads};
        break;
      case AxesFrom::slice:
        slice_of(axes, sizes, inputs[0], node.attributes);
        break;
      case AxesFrom::same_axis:
        if (list && node.attributes.find("keepdim"))
          reduction(axes, inputs[0], *list);
        else if (!list)
          keep_in_place(axes, sizes, inputs);
    }
    // The class token and the patches of an image.
    if (sizes.size() == 3 && patches_.contains(module_of(node)) && !study_.texts.empty() &&
        sizes[1] == std::ssize(study_.texts[0].tokens))
      axes[1] = {.kind = Axis::Kind::tokens};
    for (const Tensor& scores : scores_)
      if (scores.impl().node.get() == &node && scores.impl().output == place && !axes.empty())
        axes.back() = {.kind = Axis::Kind::vocabulary};
    return axes;
  }

  Named operand(const Recording::Operation& operation, size_t i) const {
    const Node::Edge& edge = operation.node->inputs[i];
    const auto found = edge.node ? places_.find(edge.node.get()) : places_.end();
    if (found != places_.end() && found->second < known_.size())
      return {edge.node->outputs[edge.output].shape.to_vector(), known_[found->second][edge.output]};
    const Sizes sizes =
        operation.step && operation.step->inputs[i].defined() ? operation.step->inputs[i].shape().to_vector() : Sizes();
    return {sizes, Axes(sizes.size())};
  }

  /// Rows of a table looked up by token ids. A table shared by both texts is looked up for the source first.
  void lookup_axes(Axes& axes, const Sizes& sizes, const std::string& module) {
    if (sizes.size() < 2) return;
    size_t text = text_of(study_, module);
    if (study_.kind == "encoder-decoder" && text == 0) text = std::min<size_t>(lookups_[module]++, 1);
    if (text < study_.texts.size() && sizes[sizes.size() - 2] == std::ssize(study_.texts[text].tokens))
      axes[axes.size() - 2] = {.kind = Axis::Kind::tokens, .text = text};
  }

  const Study& study_;
  const std::vector<Recording::Operation>& operations_;
  std::map<const Node*, size_t> places_;
  std::set<std::string> attentions_, patches_;
  std::map<std::string, size_t> lookups_;
  Tensors scores_;
  std::vector<std::vector<Axes>> known_;
};

}  // namespace

size_t text_of(const Study& study, const std::string& module) {
  return study.kind == "encoder-decoder" && (module.starts_with("decoder.") || module.starts_with("tgt_")) ? 1 : 0;
}

std::vector<std::vector<Axes>> axes_of(const Study& study, const std::vector<Recording::Operation>& operations,
                                       const std::vector<PageOutput>& outputs) {
  return TapeAxes(study, operations, outputs).all();
}

nlohmann::ordered_json axes_json(const Axes& axes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  bool any = false;
  for (const Axis& axis : axes) {
    any = any || axis.kind != Axis::Kind::other;
    switch (axis.kind) {
      case Axis::Kind::other:
        list.push_back(nullptr);
        break;
      case Axis::Kind::heads:
        list.push_back("heads");
        break;
      case Axis::Kind::vocabulary:
        list.push_back("vocabulary");
        break;
      case Axis::Kind::tokens:
        list.push_back({{"text", axis.text}});
        if (axis.start != 0) list.back()["start"] = axis.start;
    }
  }
  return any ? list : nlohmann::ordered_json(nullptr);
}

}  // namespace tape::inspect
