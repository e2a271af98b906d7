#include "inspect/live/live_run_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"
#include "base/short_list.h"

namespace tape::inspect {
namespace {

constexpr std::array<AttentionStep, 7> kSteps{
    &AttentionSteps::query,  &AttentionSteps::key,           &AttentionSteps::value,  &AttentionSteps::scores,
    &AttentionSteps::masked, &AttentionSteps::probabilities, &AttentionSteps::context};

/// Index of the operation that made a tensor, -1 if none was recorded.
int64_t maker_of(const std::vector<RecordedOp>& operations, const Tensor& tensor) {
  const auto found = std::ranges::find_if(operations, [&](const RecordedOp& op) { return op.output.is(tensor); });
  return found == operations.end() ? -1 : found - operations.begin();
}

/// The operations of attention that is computed again, and what they returned.
struct Replay {
  std::vector<RecordedOp> operations;
  AttentionSteps steps;
};

Replay replay(const std::function<AttentionSteps(const Tensors&)>& steps, const Tensors& inputs) {
  OpRecorder recorder;
  Replay replay{.operations = {}, .steps = steps(inputs)};
  replay.operations = std::move(recorder.all());
  return replay;
}

void check_in_range(const LiveEdit& edit, const char* member, int64_t value, int64_t size, const std::string& of) {
  if (value < 0 || value >= size)
    raise(ErrorKind::index, "{}{}: {} is outside [0, {}) of {}", edit.where, member, value, size, of);
}

bool hides(const LiveEdit& mask, const std::string& module, int64_t head, int64_t query, int64_t key) {
  return mask.kind == LiveEdit::Kind::mask && mask.module == module && mask.head.value_or(head) == head &&
         mask.query == query && mask.key == key;
}

/// Each query must see a key after all masks.
void check_keys_left(const LiveEdit& edit, const std::vector<LiveEdit>& all, const std::vector<double>& scores,
                     const Shape& shape) {
  for (int64_t head = edit.head.value_or(0); head < (edit.head ? *edit.head + 1 : shape[1]); ++head) {
    bool left = false;
    for (int64_t key = 0; key < shape[3]; ++key) {
      const bool hidden = std::ranges::any_of(
          all, [&](const LiveEdit& mask) { return hides(mask, edit.module, head, edit.query, key); });
      left = left ||
             (!hidden && std::isfinite(scores[static_cast<size_t>((head * shape[2] + edit.query) * shape[3] + key)]));
    }
    if (!left)
      raise(ErrorKind::config, "{}key: without key {}, query {} of head {} of {} has no key left", edit.where, edit.key,
            edit.query, head, edit.module);
  }
}

/// Adds y + constant for one element.
OutputEdit element_edit(int64_t place, int64_t flat, double value) {
  return {.place = place, .value = [=](const Tensor& y) { return with_element(y, flat, value); }};
}

/// Sets scores to -inf, whose gradients are then 0.
OutputEdit mask_edit(int64_t place, const std::vector<int64_t>& hidden) {
  const auto filled = [hidden](double value) {
    return [hidden, value](const Tensor& x) {
      Tensor y = x;
      for (const int64_t flat : hidden) y = with_element(y, flat, value);
      return y;
    };
  };
  return {.place = place, .value = filled(-INFINITY), .gradient = filled(0)};
}

/// bool, false where the masks hide a key; broadcasts to [1, H, Tq, Tk].
Tensor visible_without(const Tensor& visible, const std::vector<LiveEdit>& hidden, const Shape& shape) {
  Tensor seen = visible.defined() ? cast(expand_to(visible, shape), u8).clone() : full(shape, 1, u8);
  auto* values = seen.mutable_data<uint8_t>();
  for (const LiveEdit& mask : hidden)
    for (int64_t head = 0; head < shape[1]; ++head)
      if (mask.head.value_or(head) == head) values[(head * shape[2] + mask.query) * shape[3] + mask.key] = 0;
  return cast(seen, boolean);
}

}  // namespace

/// Also computes the steps of attention again, to find the operation of each.
class LiveRunMap::Recorder : public OpRecorder {
 public:
  std::vector<Attention> attention;

 private:
  void on_attention(AttentionCall& call) override {
    const std::string path = ModuleScope::path();
    const auto& operations = all();
    int64_t softmax = std::ssize(operations) - 1;
    while (softmax >= 0 && !(operations[static_cast<size_t>(softmax)].module == path &&
                             is_attention_weights(operations[static_cast<size_t>(softmax)])))
      --softmax;
    if (softmax < 0) return;
    Tensors inputs;
    for (const Tensor& input : call.inputs)
      inputs.push_back(input.defined() ? input.detach().requires_grad_(input.requires_grad()) : input);
    const Replay again = replay(call.steps, inputs);
    const int64_t replayed = maker_of(again.operations, again.steps.probabilities);
    Attention found{.module = path, .softmax = softmax, .steps = {}};
    for (const AttentionStep step : kSteps)
      if (const int64_t place = maker_of(again.operations, again.steps.*step); place >= 0 && replayed >= 0)
        found.steps.try_emplace(softmax + place - replayed, step);
    std::erase_if(attention, [&](const Attention& one) { return one.module == path; });
    attention.push_back(std::move(found));
  }
};

LiveRunMap::LiveRunMap(const Study& study) {
  const EnableGrad recording;
  const Composed composed;
  Recorder recorder;
  const std::vector<PageOutput> outputs = study.run();
  operations_ = std::move(recorder.all());
  attention_ = std::move(recorder.attention);
}

int64_t LiveRunMap::Attention::place_of(AttentionStep step) const {
  for (const auto& [place, made] : steps)
    if (made == step) return place;
  // Without a mask, the masked scores are the scores.
  TAPE_ASSERT(step == &AttentionSteps::masked);
  return place_of(&AttentionSteps::scores);
}

const LiveRunMap::Attention& LiveRunMap::attention(const LiveEdit& edit) const {
  const auto found = std::ranges::find(attention_, edit.module, &Attention::module);
  if (found != attention_.end()) return *found;
  std::vector<std::string> modules;
  for (const Attention& one : attention_) modules.push_back(one.module);
  raise(ErrorKind::config, "{}module: \"{}\" has no attention weights; modules that do: {}", edit.where, edit.module,
        short_list(modules));
}

std::optional<std::pair<std::string, AttentionStep>> LiveRunMap::attention_step(int64_t place) const {
  for (const Attention& one : attention_)
    if (const auto found = one.steps.find(place); found != one.steps.end()) return std::pair(one.module, found->second);
  return std::nullopt;
}

Tensor with_element(const Tensor& x, int64_t flat, double value) {
  Tensor wide = cast(x, f64).clone();
  wide.mutable_data<double>()[flat] = value;
  return cast(wide, x.dtype());
}

OutputEdit attention_edit(const LiveRunMap& run, const LiveEdit& edit, const std::vector<LiveEdit>& all) {
  using Kind = LiveEdit::Kind;
  const LiveRunMap::Attention& attention = run.attention(edit);
  const RecordedOp& softmax = run.operations()[static_cast<size_t>(attention.softmax)];
  const Shape shape = softmax.output.shape();
  if (edit.head) check_in_range(edit, "head", *edit.head, shape[1], edit.module);
  const int64_t scores = attention.place_of(&AttentionSteps::scores);
  if (edit.kind == Kind::ablate) return ablated_head(attention.softmax, softmax.output, *edit.head);
  if (edit.kind == Kind::temperature)
    return scaled_output(scores, head_factors(softmax.output, edit.head, 1 / edit.value));
  check_in_range(edit, "query", edit.query, shape[2], edit.module);
  check_in_range(edit, "key", edit.key, shape[3], edit.module);
  const auto flat = [&](int64_t head) { return (head * shape[2] + edit.query) * shape[3] + edit.key; };
  if (edit.kind == Kind::score) return element_edit(scores, flat(*edit.head), edit.value);
  if (edit.kind == Kind::weight) return element_edit(attention.softmax, flat(*edit.head), edit.value);
  check_keys_left(edit, all, values_of(softmax.input), shape);
  std::vector<int64_t> hidden;
  for (int64_t head = 0; head < shape[1]; ++head)
    if (edit.head.value_or(head) == head) hidden.push_back(flat(head));
  return mask_edit(attention.place_of(&AttentionSteps::masked), hidden);
}

void RunEdits::on_attention(AttentionCall& call) {
  const auto found = attention_.find(ModuleScope::path());
  if (found == attention_.end()) return;
  const AttentionEdits& edits = found->second;
  if (!edits.hidden.empty())
    call.visible = [visible = std::move(call.visible), hidden = edits.hidden, heads = call.heads,
                    queries = call.inputs[0].size(-2), keys = call.inputs[1].size(-2)] {
      return visible_without(visible(), hidden, {1, heads, queries, keys});
    };
  call.steps = [steps = std::move(call.steps), edits = edits.steps](const Tensors& given) {
    const EnableGrad recording;  // only recorded operations are edited
    Tensors inputs = given;
    for (Tensor& input : inputs)
      if (input.defined() && !input.requires_grad()) input = input.detach().requires_grad_();
    const Replay clean = replay(steps, inputs);
    std::vector<OutputEdit> here;
    for (const auto& [step, edit] : edits) {
      here.push_back(edit);
      here.back().place = maker_of(clean.operations, clean.steps.*step);
    }
    const OutputEdits scope(std::move(here));
    return steps(inputs);
  };
}

}  // namespace tape::inspect
