#include "autograd/custom.h"

#include <map>
#include <mutex>

#include "autograd/ops/op.h"

namespace tape {
namespace {

/// The operation of a name, kept for good: nodes refer to it.
const Op& op_named(const std::string& name) {
  static std::mutex mutex;
  static auto* ops = new std::map<std::string, std::unique_ptr<const Op>>;
  const std::lock_guard lock(mutex);
  const auto [entry, added] = ops->try_emplace(name);
  if (added) entry->second = std::make_unique<const Op>(OpDefinition{.name = entry->first.c_str()});
  return *entry->second;
}

}  // namespace

Tensor custom(const std::string& name, const Tensors& inputs, const ForwardFunction& forward,
              BackwardFunction backward) {
  Tensor output;
  {
    const NoGrad no_grad;
    output = forward(inputs);
  }
  if (!output.defined()) raise(ErrorKind::graph, "{}: the forward function returned an undefined tensor", name);
  // The function may hand on an input: the output is a tensor of its own on the tape.
  output = output.detach();
  Tensors saved = inputs;
  saved.push_back(output);
  return record(op_named(name), inputs, output, saved, std::move(backward));
}

}  // namespace tape
