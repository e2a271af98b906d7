#include "autograd/tape/checkpoint.h"

#include <algorithm>
#include <array>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/dropout.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/op.h"
#include "autograd/ops/unary.h"
#include "autograd/random.h"
#include "autograd/tape/scope_state.h"
#include "autograd/tape/uses.h"

namespace tape {
namespace {

using Function = std::function<Tensors(const Tensors&)>;

/// y = f(x); its gradients are those of the operations inside f.
const Op checkpoint_op("checkpoint", [] {
  const auto block = [](const Tensors& in) {
    generator(Stream::dropout).set_state(3, 0);
    return checkpoint([](const Tensors& x) { return dropout(tanh(matmul(x[0], x[1])), 0.3) * x[0]; }, in);
  };
  const auto captured = [](const Tensors& in) {
    return checkpoint([w = in[1]](const Tensors& x) { return sigmoid(matmul(x[0], w)) * w; }, {in[0]}) * in[0];
  };
  const auto nested = [](const Tensors& in) {
    const auto inner = [](const Tensors& x) { return exp(x[0] * 0.5) * x[0]; };
    return checkpoint([inner](const Tensors& x) { return matmul(checkpoint(inner, {tanh(x[0])}), x[1]); }, in);
  };
  const Tensors square{sample_normal({3, 3}, 1), sample_normal({3, 3}, 2)};
  return std::vector<OpSample>{{"a block", square, block}, {"captured", square, captured}, {"nested", square, nested}};
});

using RandomStates = std::array<Generator, kStreams>;

RandomStates random_states() {
  RandomStates states;
  for (int i = 0; i < kStreams; ++i) states[static_cast<size_t>(i)] = generator(static_cast<Stream>(i));
  return states;
}

void set_random_states(const RandomStates& states) {
  for (int i = 0; i < kStreams; ++i) generator(static_cast<Stream>(i)) = states[static_cast<size_t>(i)];
}

/// Puts the streams where they were once, and back at the end.
class StreamsOf {
 public:
  explicit StreamsOf(const RandomStates& states) : now_(random_states()) { set_random_states(states); }
  ~StreamsOf() { set_random_states(now_); }
  StreamsOf(const StreamsOf&) = delete;
  StreamsOf& operator=(const StreamsOf&) = delete;

 private:
  const RandomStates now_;
};

/// Outputs that have a place on the tape.
bool differentiable(const Tensor& output) { return output.defined() && is_floating(output.dtype()); }

bool same_place(const Tensor& a, const Tensor& b) {
  return a.requires_grad() && a.impl().node == b.impl().node && a.impl().output == b.impl().output;
}

}  // namespace

struct detail::SegmentState {
  Function function;
  size_t inputs = 0;
  RandomStates streams = random_states();
  ScopeState scopes = ScopeState::now();
};

namespace detail {

Tensors Segment::run_again(const Node& node, const BackwardContext& context) const {
  const SegmentState& state = *state_;
  Tensors inputs;
  // What was captured is looked at too: a parameter that has changed would give another function.
  for (size_t i = 0; i < node.saved.size(); ++i) {
    const Tensor value = context.saved(i);
    if (i < state.inputs) inputs.push_back(value);
  }
  const EnableGrad recording;
  const StreamsOf streams(state.streams);
  const ScopesAs scopes(state.scopes);

  Tensors outputs;
  for (const Tensor& output : state.function(inputs))
    if (differentiable(output)) outputs.push_back(output);
  const auto refuse = [](const std::string& found, const std::string& first) {
    raise(ErrorKind::graph, "backward of 'checkpoint': the function gave {} when it ran again, {} the first time",
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

Tensors Segment::operator()(const BackwardContext&) const {
  raise(ErrorKind::graph, "checkpoint: it has no gradient function of its own, only those of the operations inside");
}

const Segment* segment_of(const Node& node) {
  return node.op == &checkpoint_op ? node.backward.target<Segment>() : nullptr;
}

}  // namespace detail

Tensors checkpoint(const Function& fn, const Tensors& inputs) {
  if (!grad_enabled()) return fn(inputs);
  auto state = std::make_shared<detail::SegmentState>();
  state->function = fn;
  state->inputs = inputs.size();
  Tensors outputs, used = inputs;
  {
    const Uses uses;
    const NoGrad no_grad;
    outputs = fn(inputs);
    for (const Tensor& found : uses.found())
      if (std::none_of(inputs.begin(), inputs.end(), [&](const Tensor& input) { return same_place(input, found); }))
        used.push_back(found);
  }
  Tensors recorded;
  for (Tensor& output : outputs) {
    if (!differentiable(output)) continue;
    output = output.detach();  // fn may hand on what it was given, or one tensor twice
    recorded.push_back(output);
  }
  if (!recorded.empty() && needs_record(used))
    record_node(checkpoint_op, used, recorded, used, detail::Segment(std::move(state)));
  return outputs;
}

Tensor checkpoint(const std::function<Tensor(const Tensors&)>& fn, const Tensors& inputs) {
  return checkpoint([fn](const Tensors& in) { return Tensors{fn(in)}; }, inputs).front();
}

}  // namespace tape
