#include "autograd/gradcheck/replay.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/ops/op.h"
#include "autograd/tape/listeners.h"

namespace tape::detail {
namespace {

/// Keeps what a run records.
class Recorder : public Observer {
 public:
  explicit Recorder(std::vector<RecordedStep>& steps) : steps_(steps) {}

  void recorded(const Op& op, TensorList inputs, TensorList, AttributeList) override {
    RecordedStep step;
    step.op = &op;
    step.inputs.assign(inputs.begin(), inputs.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].requires_grad()) continue;
      size_t at = 0;
      while (at < step.slots.size() && !step.slots[at].tensor.is(inputs[i])) ++at;
      if (at == step.slots.size()) step.slots.push_back(slot_of(inputs[i]));
      step.slots[at].inputs.push_back(i);
    }
    steps_.push_back(std::move(step));
  }

  void entered(Node& node, TensorList outputs) override {
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
  std::unordered_map<const TensorImpl*, std::pair<size_t, size_t>> made_;
};

/// A tensor that holds other values until it is told otherwise.
class Borrowed {
 public:
  Borrowed() = default;
  ~Borrowed() { give_back(); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  void take(const Tensor& tensor, const Tensor& values) {
    give_back();
    tensor_ = tensor;
    TensorImpl& impl = tensor_.impl();
    storage_ = impl.storage;
    offset_ = impl.offset;
    values.impl().storage->set_version(tensor.version());
    impl.storage = values.impl().storage;
    impl.offset = values.impl().offset;
  }
  void give_back() {
    if (!tensor_.defined()) return;
    tensor_.impl().storage = storage_;
    tensor_.impl().offset = offset_;
    tensor_ = Tensor();
    storage_ = {};
  }
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
  Ref<Storage> storage_;
  int64_t offset_ = 0;
};

/// Leaves a function in the middle.
struct Enough {};

class Mover : public Observer {
 public:
  Mover(const std::vector<RecordedStep>& steps, const Replay::Probe& probe, const std::vector<Replay::Move>& moves,
        size_t last)
      : steps_(steps), probe_(probe), moves_(moves), last_(last), seen_(steps.size()), made_(steps.size()) {
    prepare();
  }

  void recorded(const Op& op, TensorList inputs, TensorList outputs, AttributeList) override {
    if (next_ >= steps_.size() || steps_[next_].op != &op || steps_[next_].inputs.size() != inputs.size() ||
        steps_[next_].outputs.size() != outputs.size()) {
      borrowed_.give_back();
      raise(ErrorKind::graph, "the function records '{}' as operation {}, where it recorded {} before", op.name(),
            next_, next_ < steps_.size() ? fmt::format("'{}'", steps_[next_].op->name()) : "nothing");
    }
    if (borrowed_.tensor().defined()) {
      const std::vector<size_t>& which = steps_[next_].slots[moves_[next_].slot].inputs;
      read_ = inputs[which.front()].is(borrowed_.tensor());
    }
  }

  void entered(Node& node, TensorList outputs) override {
    const RecordedStep& step = steps_[next_];
    if (borrowed_.tensor().defined()) {
      if (read_) seen_[next_] = probe_(step, node, outputs);
      borrowed_.give_back();
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

 private:
  /// Moves the slot of the step that comes next.
  void prepare() {
    if (next_ >= steps_.size() || !moves_[next_].values.defined()) return;
    const RecordedStep::Slot& slot = steps_[next_].slots[moves_[next_].slot];
    borrowed_.take(slot.source ? made_[*slot.source][slot.output] : slot.tensor, moves_[next_].values);
  }

  /// A backward that is part of the function reads what its nodes saved: that is of the first run too, where it was
  /// made by a step that was moved.
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
  bool read_ = false;          // the step that is being recorded read what was moved
  std::vector<Tensors> seen_;  // what the probe took of the moved steps
  std::vector<Tensors> made_;  // this run's tensors
  Borrowed borrowed_;
};

}  // namespace

Tensors Replay::outputs_of(const RecordedStep&, const Node&, TensorList outputs) {
  Tensors values;
  for (const Tensor& output : outputs) values.push_back(output.detach());
  return values;
}

Replay::Replay(std::function<Tensors()> f, Probe probe) : f_(std::move(f)), probe_(std::move(probe)) {
  const Trace trace;
  Recorder recorder(steps_);
  results_ = f_();
}

std::vector<Tensors> Replay::run(const std::vector<Move>& moves) {
  Mover mover(steps_, probe_, moves, steps_.size());
  f_();
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
