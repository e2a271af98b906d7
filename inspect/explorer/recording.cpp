#include "inspect/explorer/recording.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/diagnose/profile.h"
#include "inspect/explorer/parts.h"

namespace tape::inspect {
namespace {

/// Returns a tensor that refers to a leaf's node and has its values.
Tensor handle_of(const Node* leaf, const Tensor& value) {
  Tensor handle = value.detach();
  handle.impl().node = Ref<Node>(const_cast<Node*>(leaf));
  handle.impl().output = 0;
  return handle;
}

bool same_value(const Tensor& a, const Tensor& b) {
  return a.shares_storage(b) && a.impl().offset == b.impl().offset && a.shape() == b.shape() && a.dtype() == b.dtype();
}

std::vector<double> microseconds(const Profile& profile, Profile::Pass pass) {
  std::vector<double> times;
  for (const Profile::Event& event : profile.events())
    if (event.pass == pass) times.push_back(static_cast<double>(event.end - event.begin) * 1e-3);
  return times;
}

std::optional<double> time_of(const std::vector<double>& times, int64_t place) {
  if (place < 0 || place >= std::ssize(times)) return std::nullopt;
  return times[static_cast<size_t>(place)];
}

/// The gradient of a layer's input, given that of its output.
Tensor input_gradient(const LayerCall& call, const Tensor& gradient) {
  const HideObservers own_tape;
  const EnableGrad recording;
  Tensor x = call.input.detach();
  x.requires_grad_();
  return grad({call.kind.recompute(x)}, {x}, {.gradients = {gradient}})[0];
}

}  // namespace

Recording::Recording(const Study& study, const KeepOptions& options) : study_(study), keep_(options) {
  if (!study.run) raise(ErrorKind::config, "explorer: the study has no function to run");
  watch_modules();
  forward();
  hooks_.remove();
  list_leaves();
  check_detail();
  for (size_t i = 0; i < outputs_.size(); ++i) backward(i);
}

std::optional<size_t> Recording::constant(const Tensor& input) const {
  if (!input.defined()) return std::nullopt;
  for (const auto& [tensor, place] : constants_)
    if (same_value(tensor, input)) return place;
  return std::nullopt;
}

void Recording::watch_modules() {
  if (!study_.module) return;
  if (!study_.texts.empty() && AttentionProbe::supports(*study_.module))
    probe_ = std::make_unique<AttentionProbe>(*study_.module);
  for (const auto& [path, module] : study_.module->named_modules()) {
    watch(path, *module);
    if (const auto* layer = dynamic_cast<const nn::RelativeAttention*>(module)) relatives_.push_back({path, layer});
  }
}

void Recording::watch(const std::string& path, nn::Module& module) {
  const std::optional<LayerKind> kind = layer_kind(module);
  if (!kind) return;
  hooks_.forward(module, [this, path, kind = *kind](nn::Module&, const Tensors& inputs, const Tensor& output) {
    const bool known =
        std::any_of(layers_.begin(), layers_.end(), [&](const LayerCall& c) { return c.module == path; });
    if (kind.first_call && known) return Tensor();
    std::erase_if(layers_, [&](const LayerCall& call) { return call.module == path; });
    layers_.push_back({.module = path, .kind = kind, .input = inputs[0].detach(), .output = output});
    return Tensor();
  });
}

void Recording::forward() {
  const EnableGrad recording;
  const Composed composed;
  const Trace trace;
  const Profile profile(Profile::Keep::costs_and_events);
  outputs_ = study_.run();
  if (outputs_.empty()) raise(ErrorKind::config, "explorer: the study's function returns no output");
  for (const PageOutput& output : outputs_) {
    check_recorded("explorer", output.value);
    if (output.value.is_leaf())
      raise(ErrorKind::graph, "explorer: the output \"{}\" is a leaf: no operation made it", output.name);
    if (output.value.numel() != 1)
      raise(ErrorKind::shape, "explorer: the output \"{}\" must have one element, got {}", output.name,
            to_string(output.value.shape()));
  }
  const std::vector<double> times = microseconds(profile, Profile::Pass::forward);
  Tensors roots;
  for (const PageOutput& output : outputs_) roots.push_back(output.value);
  for (const Node* node : nodes_behind(roots)) {
    if (node->is_leaf()) continue;
    Operation operation{.node = node, .step = tape_.find(*node), .gradients = {}, .contributions = {}};
    if (operation.step) operation.forward_us = time_of(times, operation.step->recorded);
    operation.gradients.resize(node->outputs.size());
    operation.contributions.resize(node->inputs.size());
    indices_[node] = operations_.size();
    operations_.push_back(std::move(operation));
  }
  name_axes();
}

void Recording::name_axes() {
  const std::vector<std::vector<Axes>> axes = axes_of(study_, operations_, outputs_);
  for (const PageOutput& output : outputs_)
    if (output.prediction && vocabulary_.empty()) vocabulary_ = kept_vocabulary(*output.prediction);
  for (size_t i = 0; i < operations_.size(); ++i) {
    Operation& operation = operations_[i];
    operation.axes = axes[i];
    for (size_t j = 0; j < operation.axes.size(); ++j)
      operation.values.push_back(operation.step ? excerpt(operation.step->outputs[j], module_of(*operation.node),
                                                          Keep::activation, &operation.axes[j])
                                                : Excerpt());
  }
}

void Recording::list_leaves() {
  std::unordered_map<const Node*, std::pair<std::string, std::string>> names;
  std::vector<NamedTensor> frozen;
  const auto name = [&](const std::vector<NamedTensor>& tensors, const char* kind) {
    for (const NamedTensor& named : tensors) {
      if (named.tensor.requires_grad())
        names.try_emplace(named.tensor.impl().node.get(), named.name, kind);
      else if (named.tensor.defined())
        frozen.push_back(named);
    }
  };
  if (study_.module) {
    name(study_.module->named_parameters(), "parameter");
    name(study_.module->named_buffers(), "parameter");
  }
  name(study_.leaves, "input");
  size_t unnamed = 0;
  const auto add_constant = [&](const Tensor& value) {
    if (!value.defined() || constant(value)) return;
    const auto known =
        std::find_if(frozen.begin(), frozen.end(), [&](const NamedTensor& n) { return same_value(n.tensor, value); });
    constants_.emplace_back(value, leaves_.size());
    const std::string called = known == frozen.end() ? "constant" : known->name;
    leaves_.push_back({nullptr, called, "constant", value, excerpt(value, called, Keep::parameter),
                       std::vector<Excerpt>(outputs_.size())});
  };
  const auto add_leaf = [&](const Node* node, const Tensor& value) {
    if (!indices_.emplace(node, leaves_.size()).second) return;
    auto found = names.find(node);
    if (found == names.end()) found = names.emplace(node, std::pair(fmt::format("input {}", unnamed++), "input")).first;
    leaves_.push_back({node,
                       found->second.first,
                       found->second.second,
                       value,
                       excerpt(value, found->second.first, Keep::parameter),
                       {}});
  };
  for (const Operation& operation : operations_) {
    for (size_t i = 0; i < operation.node->inputs.size(); ++i) {
      const Node* maker = operation.node->inputs[i].node.get();
      const Tensor value = operation.step ? operation.step->inputs[i] : Tensor();
      if (!maker)
        add_constant(value);
      else if (maker->is_leaf() && value.defined())
        add_leaf(maker, value);
    }
  }
  for (const Leaf& leaf : leaves_)
    if (leaf.node) leaf_tensors_.push_back(handle_of(leaf.node, leaf.value));
}

void Recording::backward(size_t output) {
  tape_.forget_gradients();
  if (probe_) probe_->forget_gradients();
  const Profile profile(Profile::Keep::costs_and_events);
  const Tensors gradients = grad({outputs_[output].value}, leaf_tensors_, {.retain_graph = true, .allow_unused = true});
  note_gradients(gradients);
  const std::vector<double> times = microseconds(profile, Profile::Pass::backward);
  for (Operation& operation : operations_)
    operation.backward_us.push_back(operation.step ? time_of(times, operation.step->replayed) : std::nullopt);
  note_scores();
  note_layers();
  note_relatives(gradients);
  if (!probe_) return;
  attention_.emplace_back();
  for (const std::string& module : probe_->modules()) attention_.back().push_back(probe_->record(module));
}

void Recording::note_gradients(const Tensors& leaf_gradients) {
  for (Operation& operation : operations_) {
    const TapeValues::Step* step = operation.step;
    const std::string module = module_of(*operation.node);
    for (size_t i = 0; i < operation.gradients.size(); ++i)
      operation.gradients[i].push_back(step && i < step->gradients.size()
                                           ? excerpt(step->gradients[i], module, Keep::activation, &operation.axes[i])
                                           : Excerpt{});
    for (size_t i = 0; i < operation.contributions.size(); ++i)
      operation.contributions[i].push_back(contribution(operation, i));
  }
  size_t next = 0;
  for (Leaf& leaf : leaves_)
    if (leaf.node) leaf.gradients.push_back(excerpt(leaf_gradients[next++], leaf.name, Keep::parameter));
}

void Recording::note_relatives(const Tensors& leaf_gradients) {
  const auto gradient_of_leaf = [&](const Tensor& leaf) {
    for (size_t i = 0; i < leaf_tensors_.size(); ++i)
      if (leaf_tensors_[i].impl().node.get() == leaf.impl().node.get()) return leaf_gradients[i];
    return Tensor();
  };
  for (RelativeTables& of : relatives_) {
    of.key_gradients.push_back(gradient_of_leaf(of.layer->key_positions));
    of.value_gradients.push_back(gradient_of_leaf(of.layer->value_positions));
  }
}

Tensor Recording::gradient_of(const Tensor& tensor) const {
  const Node* node = tensor.impl().node.get();
  const TapeValues::Step* step = node ? tape_.find(*node) : nullptr;
  const size_t place = tensor.impl().output;
  return step && place < step->gradients.size() ? step->gradients[place] : Tensor();
}

void Recording::note_scores() {
  score_gradients_.resize(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].prediction) score_gradients_[i].push_back(gradient_of(outputs_[i].prediction->logits));
}

void Recording::note_layers() {
  for (LayerCall& call : layers_) {
    const Tensor gradient = gradient_of(call.output);
    call.gradients_output.push_back(gradient);
    call.gradients_input.push_back(gradient.defined() ? input_gradient(call, gradient) : Tensor());
  }
}

}  // namespace tape::inspect
