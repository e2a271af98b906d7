#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/reduce/totals.h"
#include "autograd/tape/graph.h"
#include "base/short_list.h"

namespace tape::optim {
namespace {

bool has_negative(const Tensor& x) { return any(lt(x.detach(), 0)).item<bool>(); }

/// Beyond this count, doubles, which the bias corrections use, cannot represent every integer.
constexpr int64_t kMostSteps = int64_t{1} << 53;

std::string key_of(size_t index, const std::string& what) { return std::to_string(index) + "." + what; }

std::string group_key(size_t group, const char* what) { return fmt::format("group.{}.{}", group, what); }

/// Takes entries out of a state one by one and collects problems.
class StateReader {
 public:
  explicit StateReader(const std::map<std::string, Tensor>& state) : left_(state) {}

  /// Returns the entry, or an undefined tensor if it is missing or does not fit.
  Tensor take(const std::string& key, const Shape& shape, DType dtype) {
    const auto given = left_.find(key);
    if (given == left_.end()) {
      note(fmt::format("missing: \"{}\" {} {}", key, to_string(dtype), to_string(shape)));
      return {};
    }
    Tensor tensor = given->second;
    left_.erase(given);
    if (tensor.defined() && tensor.shape() == shape && tensor.dtype() == dtype) return tensor;
    if (!tensor.defined())
      note(fmt::format("undefined: \"{}\"", key));
    else
      note(fmt::format("\"{}\" is {} {}, expected {} {}", key, to_string(tensor.dtype()), to_string(tensor.shape()),
                       to_string(dtype), to_string(shape)));
    return {};
  }
  /// Takes a state tensor of a parameter.
  Tensor take_values(const std::string& key, const Tensor& parameter, DType dtype, bool squares) {
    // A state saved in the other width is converted.
    const auto given = left_.find(key);
    const auto narrow = [](DType kept) { return kept == f32 || kept == bf16; };
    if (given != left_.end() && given->second.defined() && narrow(dtype) && narrow(given->second.dtype()))
      given->second = given->second.to(dtype);
    Tensor values = take(key, parameter.shape(), dtype);
    const Tensor wide = values.defined() && dtype == bf16 ? values.to(f32) : values;
    if (wide.defined() && !all_finite("step", {wide}))
      note(fmt::format("\"{}\" contains NaN or infinity", key));
    else if (wide.defined() && squares && has_negative(wide))
      note(fmt::format("\"{}\" contains a negative mean of squares", key));
    return values;
  }
  void skip(const std::string& key) { left_.erase(key); }
  void note(std::string line) { problems_.push_back(std::move(line)); }
  /// Returns all problems, including unexpected entries.
  std::vector<std::string> problems() {
    for (const auto& [key, tensor] : left_) note(fmt::format("unexpected: \"{}\"", key));
    left_.clear();
    return problems_;
  }

 private:
  std::map<std::string, Tensor> left_;
  std::vector<std::string> problems_;
};

}  // namespace

std::string parameter_label(const Tensor& parameter, size_t number) {
  const std::string path = leaf_name(parameter);
  return fmt::format("parameter {} {}", path.empty() ? std::to_string(number) : path, to_string(parameter.shape()));
}

void Optimizer::check_not_negative(const char* name, const char* what, double value) {
  if (!(value >= 0) || std::isinf(value))
    raise(ErrorKind::config, "{}: {} must be a number >= 0, got {}", name, what, value);
}

Optimizer::Optimizer(const ParameterGroups& groups, Settings settings) : settings_(std::move(settings)) {
  const char* const name = settings_.name;
  set_lr(settings_.lr);
  check_not_negative(name, "weight_decay", settings_.weight_decay);
  std::unordered_map<const TensorImpl*, size_t> seen;
  for (const ParameterGroup& group : groups) {
    const double weight_decay = group.weight_decay.value_or(settings_.weight_decay);
    check_not_negative(name, "lr_factor", group.lr_factor);
    check_not_negative(name, "weight_decay", weight_decay);
    groups_.push_back({group.lr_factor, weight_decay});
    for (const Tensor& parameter : group.parameters) {
      const size_t index = slots_.size();
      if (!parameter.defined()) raise(ErrorKind::config, "{}: parameter {} is undefined", name, index);
      if (!is_floating(parameter.dtype()))
        raise(ErrorKind::config, "{}: {} is {}, which cannot have gradients", name, parameter_label(parameter, index),
              to_string(parameter.dtype()));
      if (!parameter.is_leaf())
        raise(ErrorKind::config, "{}: {} is the result of '{}', not a leaf", name, parameter_label(parameter, index),
              parameter.impl().node->name());
      if (const auto [first, added] = seen.emplace(parameter.ref().get(), index); !added)
        raise(ErrorKind::config, "{}: {} is given twice, as parameters {} and {}", name,
              parameter_label(parameter, index), first->second, index);
      slots_.push_back({.parameter = parameter, .group = groups_.size() - 1});
    }
  }
  first_groups_ = groups_;
  if (slots_.empty()) raise(ErrorKind::config, "{}: there are no parameters to train", name);
  if (std::ranges::none_of(slots_, [](const Slot& slot) { return slot.parameter.requires_grad(); }))
    raise(ErrorKind::config, "{}: all {} parameters are frozen (requires_grad is false)", name, slots_.size());
}

void Optimizer::set_lr(double lr) {
  set_scheduled_lr(lr);
  initial_lr_ = lr;
}

void Optimizer::set_scheduled_lr(double lr) {
  check_not_negative(settings_.name, "lr", lr);
  lr_ = lr;
}

const GroupSettings& Optimizer::group(size_t number) const {
  if (number >= groups_.size())
    raise(ErrorKind::index, "{}: group {} is outside [0, {})", settings_.name, number, groups_.size());
  return groups_[number];
}

void Optimizer::set_group(size_t number, const GroupSettings& settings) {
  group(number);
  check_not_negative(settings_.name, "lr_factor", settings.lr_factor);
  check_not_negative(settings_.name, "weight_decay", settings.weight_decay);
  groups_[number] = settings;
}

Tensors Optimizer::parameters() const {
  Tensors parameters;
  for (const Slot& slot : slots_) parameters.push_back(slot.parameter);
  return parameters;
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.zero_grad();
}

/// Dtype of a parameter's state tensors.
DType Optimizer::state_dtype(const Slot& slot) const {
  return settings_.halves && slot.parameter.dtype() == f32 ? bf16 : slot.parameter.dtype();
}

void Optimizer::check_gradients(const std::vector<ShardGradient>& parts) const {
  Tensors gradients;
  std::vector<std::pair<Tensor, size_t>> parameters;  // the check may be reported after the optimizer's end
  for (const ShardGradient& part : parts) {
    gradients.push_back(part.gradient);
    parameters.emplace_back(slots_[part.parameter].parameter, part.parameter);
  }
  check_finite("step", gradients, [name = settings_.name, of = std::move(parameters)](size_t index) {
    return fmt::format("{}: the gradient of {} contains NaN or infinity; nothing was changed", name,
                       parameter_label(of[index].first, of[index].second));
  });
}

void Optimizer::prepare(size_t index, const Tensor& gradient) {
  Slot& slot = slots_[index];
  const Tensor& parameter = slot.parameter;
  if (slot.kept.empty()) {
    Tensors kept;
    for (size_t i = 0; i < settings_.state_names.size(); ++i)
      kept.push_back(zeros(gradient.shape(), {state_dtype(slot), gradient.device()}));
    slot.kept = std::move(kept);
  }
  for (Tensor& kept : slot.kept) kept = kept.to(gradient.device());  // the parameter may have moved
  for (const Tensor& kept : slot.kept)
    if (!(kept.shape() == gradient.shape()) || kept.dtype() != state_dtype(slot))
      raise(ErrorKind::graph,
            "{}: {} is {}, but was {} {} at its last step; create a new optimizer after such a change", settings_.name,
            label(index), to_string(parameter.dtype()), to_string(kept.dtype()), to_string(kept.shape()));
}

void Optimizer::add_gradient(size_t number, std::vector<ShardGradient>& gradients) const {
  const Tensor gradient = slots_[number].parameter.grad();
  if (!gradient.defined()) return;
  if (part_)
    raise(ErrorKind::config,
          "{}: step() cannot be used after shard_state(); call step_shards() with the gradients of the parts",
          settings_.name);
  gradients.push_back({number, gradient});
}

void Optimizer::step(const StepOptions& options) {
  std::vector<ShardGradient> gradients;
  for (size_t i = 0; i < slots_.size(); ++i) add_gradient(i, gradients);
  step_shards(gradients, options);
}

void Optimizer::step_parameter(size_t number, const StepOptions& options) {
  if (number >= slots_.size())
    raise(ErrorKind::index, "{}: step_parameter: there is no parameter {}", settings_.name, number);
  std::vector<ShardGradient> gradients;
  add_gradient(number, gradients);
  step_shards(gradients, options);
}

void Optimizer::shard_state(StateShard part) {
  const NoGrad no_grad;
  for (size_t i = 0; i < slots_.size(); ++i)
    for (Tensor& kept : slots_[i].kept) kept = part(i, kept);
  part_ = std::move(part);
}

void Optimizer::step_shards(const std::vector<ShardGradient>& parts, const StepOptions& options) {
  const NoGrad no_grad;
  check_not_negative(settings_.name, "gradient_scale", options.gradient_scale);
  // Everything that can fail happens before the first change.
  for (const ShardGradient& part : parts)
    if (const DType dtype = slots_[part.parameter].parameter.dtype(); is_half(dtype))
      raise(ErrorKind::dtype,
            "{}: {} is {}; keep parameters in f32, which does not round small updates away: an AutocastScope computes "
            "in bf16 from them",
            settings_.name, label(part.parameter), to_string(dtype));
  if (settings_.check_finite && !options.known_finite) check_gradients(parts);
  for (const ShardGradient& part : parts) prepare(part.parameter, part.gradient);
  std::vector<Update> updates;
  updates.reserve(parts.size());
  for (const ShardGradient& part : parts) {
    Slot& slot = slots_[part.parameter];
    ++slot.steps;
    const GroupSettings& group = groups_[slot.group];
    updates.push_back({slot, part, lr_ * group.lr_factor, group.weight_decay});
    if (!part.values.defined()) updates.back().of.values = slot.parameter;
  }
  if (updates.empty()) return;
  try {
    const Device device = updates.front().of.values.device();
    update(updates,
           options.scale_on_device.defined() ? options.scale_on_device : scalar(options.gradient_scale, {f64, device}));
  } catch (...) {
    for (const Update& refused : updates) --refused.slot.steps;
    throw;
  }
}

std::map<std::string, Tensor> Optimizer::state_dict() const {
  std::map<std::string, Tensor> state;
  state["lr"] = scalar(lr_, f64);
  state["initial_lr"] = scalar(initial_lr_, f64);
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g] == first_groups_[g]) continue;
    state[group_key(g, "lr_factor")] = scalar(groups_[g].lr_factor, f64);
    state[group_key(g, "weight_decay")] = scalar(groups_[g].weight_decay, f64);
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    state[key_of(i, "step")] = scalar(slot.steps, i64);
    for (size_t k = 0; slot.steps > 0 && k < slot.kept.size(); ++k)
      state[key_of(i, settings_.state_names[k])] = slot.kept[k];
  }
  return state;
}

void Optimizer::load_state_dict(const std::map<std::string, Tensor>& state) {
  const NoGrad no_grad;
  StateReader reader(state);
  const auto take_number = [&reader](const std::string& key) {
    const Tensor given = reader.take(key, {}, f64);
    const double value = given.defined() ? given.item() : 0;
    if (!(value >= 0) || std::isinf(value)) reader.note(fmt::format("\"{}\" must be a number >= 0, is {}", key, value));
    return value;
  };
  const double lr = take_number("lr");
  const double initial_lr = state.contains("initial_lr") ? take_number("initial_lr") : lr;
  std::vector<GroupSettings> groups = first_groups_;
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::string factor = group_key(g, "lr_factor"), decay = group_key(g, "weight_decay");
    if (state.contains(factor)) groups[g].lr_factor = take_number(factor);
    if (state.contains(decay)) groups[g].weight_decay = take_number(decay);
  }
  std::vector<Slot> loaded = slots_;
  for (size_t i = 0; i < loaded.size(); ++i) {
    Slot& slot = loaded[i];
    slot.kept.clear();
    const Tensor steps = reader.take(key_of(i, "step"), {}, i64);
    slot.steps = steps.defined() ? steps.item<int64_t>() : -1;
    if (steps.defined() && (slot.steps < 0 || slot.steps > kMostSteps))
      reader.note(fmt::format("\"{}\" must be from 0 to {}, is {}", key_of(i, "step"), kMostSteps, slot.steps));
    for (const std::string& kept : settings_.state_names) {
      const std::string key = key_of(i, kept);
      if (slot.steps > 0)
        slot.kept.push_back(reader.take_values(key, slot.parameter, state_dtype(slot), kept == settings_.squares));
      else if (slot.steps < 0)
        reader.skip(key);  // unknown whether it is expected, because the step is invalid
    }
  }
  const std::vector<std::string> problems = reader.problems();
  if (!problems.empty())
    raise(ErrorKind::format, "load_state_dict: {} does not fit:\n  {}", settings_.name, short_list(problems, "\n  "));
  for (size_t i = 0; i < loaded.size(); ++i)
    for (Tensor& kept : loaded[i].kept) kept = part_ ? part_(i, kept.detach()) : kept.detach().clone();
  slots_ = std::move(loaded);
  groups_ = std::move(groups);
  lr_ = lr;
  initial_lr_ = initial_lr;
}

ScopedOptimizerState::ScopedOptimizerState(Optimizer& optimizer)
    : optimizer_(optimizer),
      lr_(optimizer.lr_),
      initial_lr_(optimizer.initial_lr_),
      groups_(optimizer.groups_),
      slots_(optimizer.slots_) {
  const NoGrad no_grad;
  for (Optimizer::Slot& slot : slots_)
    for (Tensor& kept : slot.kept) kept = kept.clone();
  slots_.swap(optimizer_.slots_);
}

ScopedOptimizerState::~ScopedOptimizerState() {
  optimizer_.slots_.swap(slots_);
  optimizer_.groups_ = groups_;
  optimizer_.lr_ = lr_;
  optimizer_.initial_lr_ = initial_lr_;
}

}  // namespace tape::optim
