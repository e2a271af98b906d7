#include "autograd/custom.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "autograd/tape/custom_forward.h"

namespace tape {
namespace {

/// The operation with this name; never freed, because nodes refer to it.
const Op& op_named(const std::string& name) {
  static std::mutex mutex;
  static auto* ops = new std::map<std::string, std::unique_ptr<const Op>>;
  const std::lock_guard lock(mutex);
  const auto [entry, added] = ops->try_emplace(name);
  if (added) entry->second = std::make_unique<const Op>(OpDefinition{.name = entry->first.c_str()}, Origin::run_time);
  return *entry->second;
}

bool contains(const Tensors& tensors, const Tensor& wanted) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return wanted.is(tensor); });
}

/// Whether each output has a gradient.
std::vector<bool> differentiable_outputs(const Op& op, const Tensors& outputs, const std::vector<size_t>& without) {
  std::vector<bool> differentiable;
  for (const Tensor& output : outputs) differentiable.push_back(is_floating(output.dtype()));
  for (const size_t i : without) {
    if (i >= outputs.size())
      raise(ErrorKind::graph, "{}: output {} was marked as not differentiable, but there are {} outputs", op.name(), i,
            outputs.size());
    differentiable[i] = false;
  }
  return differentiable;
}

}  // namespace

ForwardContext::ForwardContext(const char* operation, const Tensors& inputs) : operation_(operation), inputs_(inputs) {
  for (const Tensor& input : inputs) needed_.push_back(grad_enabled() && input.requires_grad());
}

const Tensor& ForwardContext::input(size_t i) const {
  if (i >= inputs_.size())
    raise(ErrorKind::graph, "{}: the forward function requested input {}, but the number of inputs is {}", operation_,
          i, inputs_.size());
  return inputs_[i];
}

Tensors detail::call_custom(const Op& op, const Tensors& inputs, const std::function<Tensors(ForwardContext&)>& forward,
                            BackwardFunction backward, AttributeList attributes) {
  ForwardContext context(op.name(), inputs);
  Tensors given;
  if (needs_record(inputs)) OnCustomForward::begin(op);
  {
    const NoGrad no_grad;
    given = forward(context);
  }
  Tensors outputs, recorded, saved;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined())
      raise(ErrorKind::graph, "{}: the forward function returned an undefined tensor{}", op.name(),
            given.size() == 1 ? "" : fmt::format(" as output {}", i));
    // The function may return an input, or one tensor twice; each output must be a separate tensor on the tape.
    outputs.push_back(given[i].detach());
  }
  const std::vector<bool> differentiable = differentiable_outputs(op, outputs, context.non_differentiable());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (differentiable[i]) recorded.push_back(outputs[i]);
  for (Tensor value : context.saved()) {
    // A returned input is saved as the input, with its history; an output is saved as the recorded tensor.
    for (size_t i = 0; i < given.size() && value.defined() && !contains(inputs, value); ++i)
      if (value.is(given[i])) value = outputs[i];
    saved.push_back(value);
  }
  if (recorded.empty())
    observe_use(inputs);
  else
    record_many(op, inputs, recorded, saved, std::move(backward), attributes);
  return outputs;
}

Tensors custom(const std::string& name, const Tensors& inputs, const std::function<Tensors(ForwardContext&)>& forward,
               BackwardFunction backward, AttributeList attributes) {
  return detail::call_custom(op_named(name), inputs, forward, std::move(backward), attributes);
}

Tensor custom(const std::string& name, const Tensors& inputs, const std::function<Tensor(ForwardContext&)>& forward,
              BackwardFunction backward, AttributeList attributes) {
  const auto alone = [&forward](ForwardContext& c) -> Tensors { return {forward(c)}; };
  return custom(name, inputs, std::function<Tensors(ForwardContext&)>(alone), std::move(backward), attributes)[0];
}

Tensor custom(const std::string& name, const Tensors& inputs, const ForwardFunction& forward, BackwardFunction backward,
              AttributeList attributes) {
  const auto keeping_all = [&forward](ForwardContext& c) -> Tensor {
    Tensor output = forward(c.inputs());
    c.save(c.inputs());
    c.save({output});
    return output;
  };
  return custom(name, inputs, std::function<Tensor(ForwardContext&)>(keeping_all), std::move(backward), attributes);
}

}  // namespace tape
