#include "autograd/transforms/checkpoint.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "autograd/random.h"
#include "autograd/tape/modes.h"
#include "autograd/tape/op.h"
#include "autograd/tape/scope_state.h"
#include "autograd/transforms/leaves.h"

namespace tape {
namespace {

using Function = std::function<Tensors(const Tensors&)>;

const Op checkpoint_op({.name = "checkpoint",
                        .formula = {.forward = "y{y} = f(x…), saving only the inputs",
                                    .backward = {"dx{i}{x} = gradient through f, run again and recorded"}}});

/// While in scope, collects the tensors that require gradients, were created outside the scope, and are passed to an
/// operation inside it: everything a function uses, whether passed or captured.
class UsedTensors : public Observer {
 public:
  /// Without duplicates, in the order of their first use.
  const Tensors& found() const { return found_; }

  void on_use(TensorList inputs) override {
    for (const Tensor& input : inputs) {
      if (!input.requires_grad()) continue;
      const TensorImpl& place = input.impl();
      if (place.node->sequence < begin_ && seen_.emplace(place.node.get(), place.output).second)
        found_.push_back(input);
    }
  }

 private:
  const uint64_t begin_ = Ref<Node>(new Node)->sequence;  // position in recording order
  std::set<std::pair<const Node*, uint32_t>> seen_;
  Tensors found_;
};

bool same_value(const Tensor& a, const Tensor& b) {
  return a.requires_grad() && a.impl().node == b.impl().node && a.impl().output == b.impl().output;
}

/// A function and the state that both of its runs must see.
class FunctionSegment : public Segment {
 public:
  FunctionSegment(Function function, size_t inputs) : function_(std::move(function)), inputs_(inputs) {}
  Tensors rerun(const Node& node, const BackwardContext& context) const override;

 private:
  const Function function_;
  const size_t inputs_;
  const RandomState random_ = random_state();
  const ScopeState scopes_ = ScopeState::now();
};

Tensors FunctionSegment::rerun(const Node& node, const BackwardContext& context) const {
  Tensors inputs;
  // Captured values are checked too: a parameter that changed would give another function.
  for (size_t i = 0; i < node.saved.size(); ++i) {
    const Tensor value = context.saved(i);
    if (i < inputs_) inputs.push_back(value);
  }
  const EnableGrad recording;
  const detail::ScopedValue again(detail::modes.recomputing, true);
  const ForkRandom random(random_);
  const RestoreScopes scopes(scopes_);

  Tensors outputs;
  for (const Tensor& output : function_(inputs))
    if (differentiable(output)) outputs.push_back(output);
  const auto refuse = [](const std::string& found, const std::string& first) {
    raise(ErrorKind::graph, "backward of 'checkpoint': the function returned {} in its second run, {} in the first",
          found, first);
  };
  if (outputs.size() != node.outputs.size())
    refuse(fmt::format("{} outputs with gradients", outputs.size()), fmt::format("{}", node.outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].shape() != node.outputs[i].shape || outputs[i].dtype() != node.outputs[i].dtype)
      refuse(fmt::format("{} {}", to_string(outputs[i].dtype()), to_string(outputs[i].shape())),
             fmt::format("{} {}", to_string(node.outputs[i].dtype), to_string(node.outputs[i].shape)));
  return outputs;
}

}  // namespace

Tensors checkpoint(const Function& fn, const Tensors& inputs) {
  if (!grad_enabled()) return fn(inputs);
  auto segment = std::make_unique<FunctionSegment>(fn, inputs.size());
  Tensors outputs, used = inputs;
  {
    UsedTensors uses;
    const NoGrad no_grad;
    outputs = fn(inputs);
    uses.on_use(outputs);  // one may be a captured tensor itself
    for (const Tensor& found : uses.found())
      if (std::none_of(inputs.begin(), inputs.end(), [&](const Tensor& input) { return same_value(input, found); }))
        used.push_back(found);
  }
  Tensors recorded;
  for (Tensor& output : outputs) {
    if (!differentiable(output)) continue;
    output = output.detach();  // fn may return an input, or one tensor twice
    recorded.push_back(output);
  }
  if (!recorded.empty() && needs_record(used)) {
    record_node(checkpoint_op, used, recorded, used, nullptr);
    recorded.front().impl().node->segment = std::move(segment);
  } else {
    observe_use(used);
  }
  return outputs;
}

Tensor checkpoint(const std::function<Tensor(const Tensors&)>& fn, const Tensors& inputs) {
  return checkpoint([fn](const Tensors& in) { return Tensors{fn(in)}; }, inputs).front();
}

}  // namespace tape
