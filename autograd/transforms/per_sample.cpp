#include "autograd/transforms/per_sample.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

constexpr const char* kPerSample = "per_sample_gradients";

struct Step {
  Ref<Node> node;
  Tensors inputs, outputs;
};

/// What a rule of an f32 parameter beside bf16 activations reads: everything in f32, the dtype of its result.
struct Widened {
  Tensors inputs;
  Tensor gradient;

  Widened(const Tensors& given, const Tensor& dy, size_t parameter) : inputs(given), gradient(dy) {
    if (!is_half(dy.dtype()) || given[parameter].dtype() != f32) return;
    gradient = cast(dy, f32);
    for (Tensor& x : inputs)
      if (x.defined() && is_half(x.dtype())) x = cast(x, f32);
  }
};

/// Collects the operations that a run records.
class OperationRecorder : public Observer {
 public:
  std::vector<Step> steps;

 private:
  void on_record(const Op&, TensorList inputs, TensorList, AttributeList) override {
    inputs_.assign(inputs.begin(), inputs.end());
  }
  void on_node(Node& node, TensorList outputs) override {
    steps.push_back({Ref<Node>(&node), std::move(inputs_), Tensors(outputs.begin(), outputs.end())});
  }

  Tensors inputs_;
};

int64_t samples_of(const Tensors& batch) {
  int64_t samples = -1;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!batch[i].defined()) continue;
    if (batch[i].rank() == 0 || (samples >= 0 && batch[i].size(0) != samples))
      raise(ErrorKind::shape, "{}: tensor {} of the batch is {}, {}", kPerSample, i, to_string(batch[i].shape()),
            samples < 0 ? "it has no sample axis" : fmt::format("but earlier ones have {} samples", samples));
    samples = batch[i].size(0);
  }
  if (samples < 1) raise(ErrorKind::shape, "{}: the batch has no samples", kPerSample);
  return samples;
}

Tensors first_sample(const Tensors& batch) {
  Tensors one;
  for (const Tensor& x : batch) one.push_back(x.defined() ? slice(x, 0, {.start = 0, .end = 1}) : x);
  return one;
}

/// Accumulates per-sample gradients during the backward, for every tensor without a sample axis that is an input of an
/// operation whose output has one.
class PerSampleAccumulator : public Observer {
 public:
  PerSampleAccumulator(const std::vector<Step>& one, const std::vector<Step>& all, int64_t samples)
      : all_(all), samples_(samples) {
    if (one.size() != all.size())
      raise(ErrorKind::graph, "{}: the losses of one sample record {} operations, those of {} samples {}", kPerSample,
            one.size(), samples, all.size());
    for (size_t k = 0; k < all.size(); ++k) {
      if (one[k].node->op != all[k].node->op)
        raise(ErrorKind::graph, "{}: the losses of one sample record '{}', where those of {} samples record '{}'",
              kPerSample, one[k].node->name(), samples, all[k].node->name());
      if (all[k].node->segment)
        raise(ErrorKind::graph, "{}: operations inside checkpoint() are not recorded; call it without", kPerSample);
      step_of_[all[k].node.get()] = k;
      std::vector<int64_t>& axes = axes_.emplace_back();
      for (size_t i = 0; i < all[k].outputs.size(); ++i)
        axes.push_back(axis_of(*all[k].node, one[k].outputs[i].shape(), all[k].outputs[i].shape()));
    }
  }

  /// [B, ... of the tensor], by node and output index.
  std::map<std::pair<Node*, uint32_t>, Tensor> gathered;

 private:
  void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) override {
    const auto found = step_of_.find(&node);
    if (found == step_of_.end()) return;
    const std::vector<int64_t>& axes = axes_[found->second];
    if (std::all_of(axes.begin(), axes.end(), [](int64_t axis) { return axis < 0; })) return;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Node::Edge& edge = node.inputs[i];
      if (!edge.node || !results[i].defined() || has_samples(edge)) continue;
      const Tensor part = by_sample(all_[found->second], axes, i, gradients, results[i]);
      Tensor& sum = gathered[{edge.node.get(), edge.output}];
      sum = sum.defined() ? sum + part : part;
    }
  }

  /// The axis that holds the samples, one block each; -1 if there is none.
  int64_t axis_of(const Node& node, const Shape& one, const Shape& all) const {
    int64_t axis = -1;
    bool fits = one.rank() == all.rank();
    for (int64_t i = 0; fits && i < one.rank(); ++i) {
      if (one[i] == all[i]) continue;
      fits = axis < 0 && all[i] == one[i] * samples_;
      axis = i;
    }
    if (!fits)
      raise(ErrorKind::graph, "{}: '{}'{} returns {} for one sample and {} for {}: there is no single sample axis",
            kPerSample, node.name(), module_of(node).empty() ? "" : fmt::format(" ({})", module_of(node)),
            to_string(one), to_string(all), samples_);
    return axis;
  }

  bool has_samples(const Node::Edge& edge) const {
    const auto found = step_of_.find(edge.node.get());
    return found != step_of_.end() && axes_[found->second][edge.output] >= 0;
  }

  Tensor by_sample(const Step& step, const std::vector<int64_t>& axes, size_t input, const Tensors& gradients,
                   const Tensor& result) const {
    const Shape& shape = step.inputs[input].shape();
    if (axes[0] >= 0 && step.node->op->per_sample()) {
      const Widened wide(step.inputs, gradients[0], input);
      Tensor part = step.node->op->per_sample()({*step.node, wide.inputs, wide.gradient, input, axes[0], samples_});
      if (part.defined()) return part;
    }
    if (axes.size() == 1 && is_broadcast(step, input, result)) return broadcast(result, axes[0], shape);
    return one_by_one(step, axes, input, gradients);
  }

  /// Whether a gradient has the output's axes, along which the input was broadcast. One of the input's own shape is
  /// summed already, even if the output happens to be of that shape.
  static bool is_broadcast(const Step& step, size_t input, const Tensor& result) {
    return step.node->op->traits().axes == AxesFrom::same_axis && result.shape() == step.outputs[0].shape() &&
           !(result.shape() == step.inputs[input].shape());
  }

  /// Sums a gradient over the axes that the input was broadcast along, except the sample axis.
  Tensor broadcast(const Tensor& result, int64_t axis, const Shape& shape) const {
    const Tensor parts = samples_first(result, axis, samples_);
    Shape kept = shape;
    for (int64_t rank = shape.rank(); rank < result.rank(); ++rank) kept = kept.inserted(0, 1);
    return reshape(sum_to(parts, kept.inserted(0, samples_)), shape.inserted(0, samples_));
  }

  /// Fallback: calls the gradient function once per sample, with zero gradients for the others.
  Tensor one_by_one(const Step& step, const std::vector<int64_t>& axes, size_t input, const Tensors& gradients) const {
    const Node& node = *step.node;
    const Shape& shape = step.inputs[input].shape();
    std::vector<bool> needed(node.inputs.size());
    needed[input] = true;
    Tensors parts;
    for (int64_t sample = 0; sample < samples_; ++sample) {
      Tensors arriving(gradients.size());
      for (size_t i = 0; i < gradients.size(); ++i) {
        if (!gradients[i].defined()) continue;
        if (axes[i] < 0)
          raise(ErrorKind::graph, "{}: output {} of '{}' has no sample axis, its shape is {}", kPerSample, i,
                node.name(), to_string(gradients[i].shape()));
        const int64_t rows = gradients[i].size(axes[i]) / samples_;
        const int64_t begin = sample * rows;
        arriving[i] = put_slice(zeros_like(gradients[i]), axes[i], begin,
                                slice(gradients[i], axes[i], {.start = begin, .end = begin + rows}));
      }
      const Tensors results = node.backward(BackwardContext(node, arriving, needed, false));
      parts.push_back(results[input].defined() ? sum_to(results[input], shape)
                                               : zeros(shape, step.inputs[input].options()));
    }
    return stack(parts, 0);
  }

  const std::vector<Step>& all_;
  const int64_t samples_;
  std::unordered_map<const Node*, size_t> step_of_;
  std::vector<std::vector<int64_t>> axes_;  // sample axis of each step's outputs
};

/// Propagates the gradients of tensors computed only from parameters, with one backward per sample.
void backward_shared_tensors(const PerSampleAccumulator& accumulator, const std::vector<Step>& steps,
                             const Tensors& wanted, int64_t samples, Tensors& result) {
  Tensors reached, arriving;
  for (const Step& step : steps) {
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const auto found = accumulator.gathered.find({step.node.get(), static_cast<uint32_t>(i)});
      if (found == accumulator.gathered.end()) continue;
      reached.push_back(step.outputs[i]);
      arriving.push_back(found->second);
    }
  }
  if (reached.empty()) return;
  std::vector<Tensors> by_sample(wanted.size());
  for (int64_t sample = 0; sample < samples; ++sample) {
    Tensors seeds;
    for (const Tensor& gradient : arriving) seeds.push_back(select(gradient, 0, sample));
    const Tensors part = grad(reached, wanted, {.gradients = seeds, .retain_graph = true, .allow_unused = true});
    for (size_t i = 0; i < wanted.size(); ++i)
      by_sample[i].push_back(part[i].defined() ? part[i] : zeros_like(wanted[i].detach()));
  }
  for (size_t i = 0; i < wanted.size(); ++i) result[i] = result[i] + stack(by_sample[i], 0);
}

double largest(const Tensor& x) { return x.numel() == 0 ? 0 : max(abs(x)).to(f64).item<double>(); }

void verify(const Tensor& losses, const std::vector<NamedTensor>& result, const Tensors& wanted, int64_t samples) {
  Tensor seed = zeros_like(losses.detach());
  select(seed, 0, samples - 1).fill_(1);
  const Tensors own = grad({losses}, wanted, {.gradients = {seed}, .retain_graph = true, .allow_unused = true});
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Tensor ours = select(result[i].tensor, 0, samples - 1);
    const Tensor theirs = own[i].defined() ? own[i] : zeros_like(ours);
    const double off = largest(ours - theirs), size = std::max(largest(ours), largest(theirs));
    if (!(off <= (ours.dtype() == f64 ? 1e-7 : 1e-2) * size))
      raise(
          ErrorKind::graph,
          "{}: the gradient of {} of the last sample is off by {:.3g}, where the largest is {:.3g}: samples influence "
          "each other, or their rows are not consecutive",
          kPerSample, result[i].name, off, size);
  }
}

Tensor checked_losses(const std::function<Tensor(const Tensors& batch)>& losses, const Tensors& batch,
                      int64_t samples) {
  Tensor given = losses(batch);
  if (!given.defined() || !(given.shape() == Shape{samples}))
    raise(ErrorKind::shape, "{}: the losses are {}, they must be [{}], one per sample", kPerSample,
          given.defined() ? to_string(given.shape()) : "undefined", samples);
  check_recorded(kPerSample, given);
  return given;
}

/// With one sample, a sample axis is indistinguishable from other axes of size 1; the usual gradient is the result.
std::vector<NamedTensor> single_sample_gradients(const std::function<Tensor(const Tensors& batch)>& losses,
                                                 const std::vector<NamedTensor>& parameters, const Tensors& wanted,
                                                 const Tensors& batch) {
  const Tensor loss = checked_losses(losses, batch, 1);
  const Tensors gradients = grad({loss}, wanted, {.allow_unused = true});
  std::vector<NamedTensor> result;
  for (size_t i = 0; i < wanted.size(); ++i)
    result.push_back({parameters[i].name,
                      unsqueeze(gradients[i].defined() ? gradients[i].detach() : zeros_like(wanted[i].detach()), 0)});
  return result;
}

}  // namespace

std::vector<NamedTensor> per_sample_gradients(const std::function<Tensor(const Tensors& batch)>& losses,
                                              const std::vector<NamedTensor>& parameters, const Tensors& batch,
                                              const PerSampleOptions& options) {
  const int64_t samples = samples_of(batch);
  Tensors wanted;
  for (const NamedTensor& parameter : parameters) {
    if (!parameter.tensor.requires_grad())
      raise(ErrorKind::graph, "{}: {} does not require gradients", kPerSample, parameter.name);
    wanted.push_back(parameter.tensor);
  }
  const EnableGrad recording;
  if (samples == 1) return single_sample_gradients(losses, parameters, wanted, batch);
  std::vector<Step> one;
  {
    const ForkRandom random;
    const OperationRecorder run;
    const Tensor loss = losses(first_sample(batch));
    one = run.steps;
  }
  OperationRecorder run;
  const Tensor given = checked_losses(losses, batch, samples);
  PerSampleAccumulator accumulator(one, run.steps, samples);
  grad({given}, wanted, {.gradients = {ones_like(given)}, .retain_graph = true, .allow_unused = true});
  Tensors by_sample;
  for (const Tensor& parameter : wanted) {
    const auto found = accumulator.gathered.find({parameter.impl().node.get(), parameter.impl().output});
    by_sample.push_back(found != accumulator.gathered.end()
                            ? found->second
                            : zeros(parameter.shape().inserted(0, samples), parameter.options()));
  }
  backward_shared_tensors(accumulator, run.steps, wanted, samples, by_sample);
  std::vector<NamedTensor> result;
  for (size_t i = 0; i < parameters.size(); ++i) result.push_back({parameters[i].name, by_sample[i].detach()});
  if (options.verify) verify(given, result, wanted, samples);
  return result;
}

}  // namespace tape
