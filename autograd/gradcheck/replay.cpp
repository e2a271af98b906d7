#include "autograd/gradcheck/replay.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "autograd/dtype.h"
#include "autograd/gradcheck/scoped_values.h"
#include "autograd/tape/custom_forward.h"
#include "autograd/tape/observer.h"
#include "autograd/tape/op.h"

namespace tape::detail {
namespace {

/// Returns the next sequence number in recording order.
uint64_t place_now() { return Ref<Node>(new Node)->sequence; }

bool is_constant(const Tensor& input, uint64_t start) {
  return input.defined() && is_floating(input.dtype()) && !has_edge(input, start);
}

/// Saves what a run records.
class Recorder : public Observer {
 public:
  Recorder(std::vector<RecordedStep>& steps, uint64_t start) : steps_(steps), start_(start) {}

  void on_record(const Op& op, TensorList inputs, TensorList, AttributeList) override {
    RecordedStep step;
    step.op = &op;
    step.custom = std::exchange(computing_, nullptr) == &op;
    step.inputs.assign(inputs.begin(), inputs.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_constant(inputs[i], start_)) step.constants.push_back({i, inputs[i], inputs[i].detach().clone()});
      if (!inputs[i].requires_grad()) continue;
      size_t at = 0;
      while (at < step.slots.size() && !step.slots[at].tensor.is(inputs[i])) ++at;
      if (at == step.slots.size()) step.slots.push_back(slot_of(inputs[i]));
      step.slots[at].inputs.push_back(i);
    }
    steps_.push_back(std::move(step));
  }

  void on_node(Node& node, TensorList outputs) override {
    RecordedStep& step = steps_.back();
    step.node = Ref<Node>(&node);
    step.outputs.assign(outputs.begin(), outputs.end());
    for (size_t i = 0; i < outputs.size(); ++i) made_[&outputs[i].impl()] = {steps_.size() - 1, i};
  }

 private:
  RecordedStep::Slot slot_of(const Tensor& tensor) const {
    RecordedStep::Slot slot{tensor, {}, {}, 0};
    if (const auto made = made_.find(&tensor.impl()); made != made_.end()) {
      slot.source = made->second.first;
      slot.output = made->second.second;
    }
    return slot;
  }

  std::vector<RecordedStep>& steps_;
  const uint64_t start_;
  std::unordered_map<const TensorImpl*, std::pair<size_t, size_t>> made_;
  const Op* computing_ = nullptr;
  const OnCustomForward on_custom_forward_{[this](const Op& op) { computing_ = &op; }};
};

/// Thrown to leave a function early.
struct Enough {};

class Mover : public Observer {
 public:
  Mover(const std::vector<RecordedStep>& steps, const Replay::Probe& probe, const std::vector<Replay::Move>& moves,
        size_t last)
      : steps_(steps),
        probe_(probe),
        moves_(moves),
        last_(last),
        seen_(steps.size()),
        tainted_(steps.size()),
        made_(steps.size()) {
    prepare();
  }

  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override {
    if (next_ >= steps_.size() || steps_[next_].op != &op || steps_[next_].inputs.size() != inputs.size() ||
        steps_[next_].outputs.size() != outputs.size()) {
      scoped_values_.restore();
      raise(ErrorKind::graph, "the function records '{}' as operation {}, but recorded {} before", op.name(), next_,
            next_ < steps_.size() ? fmt::format("'{}'", steps_[next_].op->name()) : "nothing");
    }
    if (scoped_values_.tensor().defined()) {
      const std::vector<size_t>& which = steps_[next_].slots[moves_[next_].slot].inputs;
      read_ = inputs[which.front()].is(scoped_values_.tensor());
      tainted_[next_] = is_tainted(steps_[next_], inputs, Attributes(attributes));
    }
  }

  void on_node(Node& node, TensorList outputs) override {
    const RecordedStep& step = steps_[next_];
    if (scoped_values_.tensor().defined()) {
      if (read_ && !tainted_[next_]) seen_[next_] = probe_(step, node, outputs);
      scoped_values_.restore();
    }
    if (next_ == last_) throw Enough();
    restore_saved(step, node);
    made_[next_].assign(outputs.begin(), outputs.end());
    for (size_t i = 0; i < outputs.size(); ++i) {
      TensorImpl& output = made_[next_][i].impl();
      output.storage = step.outputs[i].impl().storage;
      output.offset = step.outputs[i].impl().offset;
    }
    ++next_;
    prepare();
  }

  std::vector<Tensors>& seen() { return seen_; }
  const std::vector<bool>& tainted() const { return tainted_; }

 private:
  /// Moves the slot of the next step, if no observed forward function will do it.
  void prepare() {
    if (next_ < steps_.size() && !steps_[next_].custom) move();
  }

  void move() {
    if (!moves_[next_].values.defined()) return;
    const RecordedStep::Slot& slot = steps_[next_].slots[moves_[next_].slot];
    scoped_values_.take(slot.source ? made_[*slot.source][slot.output] : slot.tensor, moves_[next_].values);
  }

  static bool is_tainted(const RecordedStep& step, TensorList inputs, const Attributes& attributes) {
    return !same_attributes(step.node->attributes, attributes) ||
           std::any_of(step.constants.begin(), step.constants.end(), [&](const RecordedStep::Constant& constant) {
             return !same_values(constant.values, inputs[constant.input]);
           });
  }

  /// A backward inside the function reads what its nodes saved. That must also come from the first run if a moved step
  /// saved it.
  static void restore_saved(const RecordedStep& step, Node& node) {
    const std::vector<Node::Saved>& first = step.node->saved;
    for (size_t i = 0; i < node.saved.size() && i < first.size(); ++i) {
      if (!first[i].value.defined() || node.saved[i].packed) continue;
      const bool is_input = std::any_of(step.inputs.begin(), step.inputs.end(),
                                        [&](const Tensor& input) { return first[i].value.is(input); });
      if (is_input) continue;
      node.saved[i].value = first[i].value;
      node.saved[i].version = first[i].version;
    }
  }

  const std::vector<RecordedStep>& steps_;
  const Replay::Probe& probe_;
  const std::vector<Replay::Move>& moves_;
  const size_t last_;
  size_t next_ = 0;
  bool read_ = false;          // whether the step being recorded read the moved tensor
  std::vector<Tensors> seen_;  // results of the probe for the moved steps
  std::vector<bool> tainted_;
  std::vector<Tensors> made_;  // this run's tensors
  ScopedValues scoped_values_;
  const OnCustomForward on_custom_forward_{[this](const Op& op) {
    if (next_ < steps_.size() && steps_[next_].custom && steps_[next_].op == &op) move();
  }};
};

}  // namespace

bool has_edge(const Tensor& input, uint64_t start) {
  if (!input.requires_grad()) return false;
  const Node& node = *input.impl().node;
  return !node.is_leaf() || node.sequence < start;
}

bool same_values(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.numel() == 0 || std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.numel() * size_of(a.dtype()))) == 0);
}

bool same_attributes(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Attribute& x, const Attribute& y) {
    return std::string_view(x.name) == y.name && x.value == y.value;
  });
}

Tensors Replay::outputs_of(const RecordedStep&, const Node&, TensorList outputs) {
  Tensors values;
  for (const Tensor& output : outputs) values.push_back(output.detach());
  return values;
}

Replay::Replay(std::function<Tensors()> f, Probe probe)
    : f_(std::move(f)), probe_(std::move(probe)), start_(place_now()) {
  const Trace trace;
  const Recorder recorder(steps_, start_);
  results_ = f_();
}

std::vector<Tensors> Replay::run(const std::vector<Move>& moves) {
  Mover mover(steps_, probe_, moves, steps_.size());
  f_();
  tainted_ = mover.tainted();
  return std::move(mover.seen());
}

Tensors Replay::run_one(size_t step, const Move& move) {
  std::vector<Move> moves(steps_.size());
  moves[step] = move;
  Mover mover(steps_, probe_, moves, step);
  try {
    f_();
  } catch (const Enough&) {
  }
  return std::move(mover.seen()[step]);
}

}  // namespace tape::detail
