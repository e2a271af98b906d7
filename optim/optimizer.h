#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../autograd/tape/tape.h"

/// Optimizers, learning-rate schedules and gradient clipping.
namespace tape::optim {

/// Parameters with their own settings, for example biases and norms without weight decay.
struct ParameterGroup {
  Tensors parameters;                       ///< leaves of a floating dtype
  double lr_factor = 1;                     ///< multiplies the optimizer's lr
  std::optional<double> weight_decay = {};  ///< overrides the optimizer's
};
/// Groups of an optimizer, numbered from 0.
using ParameterGroups = std::vector<ParameterGroup>;

/// Settings of the parameters of one group; may change between steps.
struct GroupSettings {
  double lr_factor = 1;                                   ///< multiplies the optimizer's lr; >= 0
  double weight_decay = 0;                                ///< as in the optimizer's options; >= 0
  bool operator==(const GroupSettings&) const = default;  ///< compares both
};

/// Returns the name of a parameter for messages: "parameter encoder.weight [2, 4]", or its index if it belongs to no
/// module, "parameter 3 [2, 4]".
std::string parameter_label(const Tensor& parameter, size_t number);

/// Options of Optimizer::step().
struct StepOptions {
  double gradient_scale = 1;    ///< factor on every gradient, applied during the update: clip_scale()
  Tensor scale_on_device = {};  ///< if defined, replaces gradient_scale: an f64 scalar on the parameters' device
  bool known_finite = false;    ///< skips the check for NaN and infinity, because grad_norm() has made it
};

/// Gradient of part of a parameter's values.
struct ShardGradient {
  size_t parameter = 0;  ///< index of the parameter
  Tensor gradient;       ///< of consecutive values of the parameter, in its dtype
  Tensor values = {};    ///< values to update, with the gradient's shape and dtype; undefined: the parameter itself
  int64_t first = 0;     ///< row-major index of the first value in the parameter
};

/// Base class of optimizers. It holds the parameters and the state of each between steps, and updates those that have a
/// gradient.
///
/// Gradients accumulate in grad() until zero_grad(). So k micro-batches, each with its loss divided by k and its own
/// backward(), followed by one step(), equal one batch of k times the size.
///
/// Parameters are numbered from 0 in the given order across all groups; messages use their module path if they have
/// one. A frozen parameter (requires_grad() is false) keeps its index, and steps skip it until it is unfrozen. Throws
/// Error (config) if there are no parameters or all are frozen, if one is not a leaf or not floating-point or is given
/// twice, or for a setting out of range.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  double lr() const { return lr_; }  ///< learning rate of the next step
  /// Throws Error (config) unless lr is finite and >= 0.
  void set_lr(double lr);
  /// Returns the lr from the constructor or from set_lr(), which schedules start from. Schedules do not change it;
  /// load_state_dict() restores the saved run's.
  double initial_lr() const { return initial_lr_; }
  /// Groups are numbered from 0 in the given order; an optimizer constructed from plain parameters has one.
  size_t group_count() const { return groups_.size(); }
  /// Returns a group's current settings. Throws Error (index) for a group that does not exist.
  const GroupSettings& group(size_t number) const;
  /// Changes a group's settings from the next step on: `adam.set_group(1, {.lr_factor = 0.1, .weight_decay = 0})`. Its
  /// lr is lr() times the factor, so schedules still apply. Throws Error (config) for values out of range, Error
  /// (index) for a group that does not exist.
  void set_group(size_t number, const GroupSettings& settings);
  /// Updates every parameter that has a gradient in place; a later backward through the old values fails. Throws Error
  /// (numeric) with the parameter's name if a gradient contains NaN or infinity (unless .check_finite is false), Error
  /// (graph) if a parameter changed its shape or dtype since the last step. Changes nothing in either case.
  ///
  /// On a GPU nothing is updated either, but the Error (numeric) is thrown by the next call that waits for the GPU,
  /// such as item(), and the step is counted.
  void step(const StepOptions& options = {});
  /// Updates one parameter with its gradient; has no effect without one.
  void step_parameter(size_t number, const StepOptions& options = {});
  /// Discards all gradients.
  void zero_grad();

  /// Returns the parameters of all groups in the order of their numbers, frozen ones included.
  Tensors parameters() const;
  /// Returns parameter_label() of a parameter of this number.
  std::string label(size_t number) const { return parameter_label(slots_[number].parameter, number); }

  /// Returns the part of a parameter's state tensor to keep, in its own memory.
  using StateShard = std::function<Tensor(size_t parameter, const Tensor& whole)>;
  /// Keeps only a part of each state tensor from now on, including existing and loaded ones, for processes that shard
  /// the optimizer state. Afterwards step() throws Error (config); use step_shards().
  void shard_state(StateShard part);
  bool is_sharded() const { return part_ != nullptr; }  ///< whether shard_state() was called
  /// Updates parts of some parameters. The part of a parameter must have the same shape at every step.
  void step_shards(const std::vector<ShardGradient>& parts, const StepOptions& options = {});

  /// Returns everything for an exact resume: "lr" and "initial_lr" (f64), "group.0.lr_factor" and
  /// "group.0.weight_decay" of groups whose settings changed since construction, and for each parameter "0.step"
  /// (number of updates, i64) and, once updated, its state tensors, such as "0.m". These are the optimizer's own
  /// tensors: save or clone them before the next step. After shard_state() they are the parts; load_state_dict() still
  /// takes full tensors.
  std::map<std::string, Tensor> state_dict() const;
  /// Copies a state in. Without "initial_lr", which versions up to 0.2 did not save, it becomes the state's "lr". If
  /// anything does not fit, throws one Error (format) that lists every missing, unexpected and misshapen entry and
  /// every impossible value (steps below 0 or above 2^53, NaN, infinity, squares below 0), and changes nothing.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 protected:
  /// A parameter and its state.
  struct Slot {
    Tensor parameter;   ///< the leaf itself, not a copy
    size_t group = 0;   ///< index of its group
    int64_t steps = 0;  ///< updates so far, including the running one
    Tensors kept = {};  ///< state tensors, one per entry of state_names, initially zero
  };
  /// Options that all optimizers share.
  struct Settings {
    const char* name;                      ///< for messages
    double lr;                             ///< initial lr
    double weight_decay;                   ///< of groups without their own
    bool check_finite;                     ///< whether step() rejects gradients with NaN or infinity
    std::vector<std::string> state_names;  ///< state tensors of each parameter
    std::string squares = {};              ///< the one that is a mean of squares, so never negative
    bool halves = false;                   ///< whether the state of f32 parameters is bf16
  };

  /// Throws Error (config) for parameters and settings as described above.
  Optimizer(const ParameterGroups& groups, Settings settings);
  /// Returns one group of these parameters, without its own settings.
  static ParameterGroups one_group(TensorList parameters) {
    return {{.parameters = {parameters.begin(), parameters.end()}}};
  }
  /// Throws Error (config) `name: what must be a number >= 0, got value`.
  static void check_not_negative(const char* name, const char* what, double value);

  /// One update of a parameter or a part of it.
  struct Update {
    Slot& slot;        ///< of the parameter
    ShardGradient of;  ///< its gradient; `of.values` is always defined
    double lr,         ///< lr() times the factor of the group
        weight_decay;  ///< of the group
  };
  /// Makes all updates, of which there is at least one; `scale`, an f64 scalar on their device, is a factor on every
  /// gradient. May throw only before any change.
  virtual void update(const std::vector<Update>& updates, const Tensor& scale) = 0;

 private:
  friend class Schedule;
  friend class ScopedOptimizerState;
  void set_scheduled_lr(double lr);
  DType state_dtype(const Slot& slot) const;
  void check_gradients(const std::vector<ShardGradient>& parts) const;
  void prepare(size_t index, const Tensor& gradient);
  void add_gradient(size_t number, std::vector<ShardGradient>& gradients) const;

  Settings settings_;
  double lr_ = 0, initial_lr_ = 0;
  std::vector<GroupSettings> first_groups_, groups_;  // at construction, and now
  std::vector<Slot> slots_;
  StateShard part_;
};

/// Lets an optimizer step with a copy of its state while in scope, then restores its state and lr.
class ScopedOptimizerState {
 public:
  /// Copies the state; the optimizer must outlive this object.
  explicit ScopedOptimizerState(Optimizer& optimizer);
  ~ScopedOptimizerState();
  ScopedOptimizerState(const ScopedOptimizerState&) = delete;
  ScopedOptimizerState& operator=(const ScopedOptimizerState&) = delete;

 private:
  Optimizer& optimizer_;
  const double lr_, initial_lr_;
  const std::vector<GroupSettings> groups_;
  std::vector<Optimizer::Slot> slots_;
};

}  // namespace tape::optim
