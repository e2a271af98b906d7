#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../autograd/tape/tape.h"

namespace tape::optim {

/// Parameters that share settings of their own, for example biases and norms without weight decay.
struct ParameterGroup {
  Tensors parameters;
  double lr_factor = 1;                     ///< times the optimizer's lr
  std::optional<double> weight_decay = {};  ///< in place of the optimizer's
};
using ParameterGroups = std::vector<ParameterGroup>;

/// What the parameters of one group have in common; may change between steps.
struct GroupSettings {
  double lr_factor = 1;
  double weight_decay = 0;
  bool operator==(const GroupSettings&) const = default;
};

/// A parameter as messages name it: "parameter encoder.weight [2, 4]", or by its number where it is of no module,
/// "parameter 3 [2, 4]".
std::string parameter_label(const Tensor& parameter, size_t number);

struct StepOptions {
  double gradient_scale = 1;  ///< every gradient counts times this: clip_scale(), in the pass that updates
  bool known_finite = false;  ///< grad_norm() has looked at the gradients: they are not looked at again
};

/// The gradient of some values of a parameter.
struct PartGradient {
  size_t parameter = 0;  ///< its number
  Tensor gradient;
  Tensor values = {};  ///< what is updated, of the gradient's shape and dtype; undefined: the parameter itself
  int64_t first = 0;   ///< number of the first value in the parameter, row-major
};

/// Base of the optimizers: it holds handles of the parameters, walks those that have a gradient, and keeps what each
/// needs between steps.
///
/// Gradients add up in grad() until zero_grad(). So k micro-batches, each with its loss divided by k and its own
/// backward(), followed by one step(), are one batch of k times the size.
///
/// Parameters are numbered in the order given, through all groups, from 0; messages call them by their path in the
/// module where they have one. A frozen one (requires_grad() is false) keeps its place: steps skip it until it is
/// unfrozen. Error (config) for: no parameter at all, frozen ones alone, one that is no leaf or not floating, one given
/// twice, a setting out of range.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  double lr() const { return lr_; }
  /// Error (config) unless lr is a finite number >= 0.
  void set_lr(double lr);
  /// The lr that the optimizer was made with, or that set_lr() gave it: what a schedule starts from. Schedules do not
  /// change it, and load_state_dict() brings back that of the run it was saved in.
  double initial_lr() const { return initial_lr_; }
  /// Groups are numbered in the order given, from 0; an optimizer made of parameters alone has one.
  size_t group_count() const { return groups_.size(); }
  const GroupSettings& group(size_t number) const;
  /// Other settings of a group from the next step on: `adam.set_group(1, {.lr_factor = 0.1, .weight_decay = 0})`. Its
  /// lr is lr() times the factor, so schedules go on. Error (config) for values out of range, (index) for no such
  /// group.
  void set_group(size_t number, const GroupSettings& settings);
  /// Updates every parameter that has a gradient, in place, so that a backward through values of before the step is
  /// refused. Error (numeric) naming the parameter where a gradient holds NaN or infinity (unless .check_finite is
  /// false), Error (graph) where the parameter changed its shape or dtype since the last step; nothing is changed then.
  void step(const StepOptions& options = {});
  /// step() of one parameter, by its number, with the gradient that it has; nothing where it has none.
  void step_parameter(size_t number, const StepOptions& options = {});
  /// Drops the gradients.
  void zero_grad();

  Tensors parameters() const;
  std::string label(size_t number) const { return parameter_label(slots_[number].parameter, number); }

  /// What `part` makes of a tensor of state of a parameter, in memory of its own.
  using StatePart = std::function<Tensor(size_t parameter, const Tensor& whole)>;
  /// From now on keeps a part of each state tensor, also of those that it has already and of those that are loaded: for
  /// processes that share the work. step() is refused with Error (config) then, and step_parts() updates.
  void keep_parts(StatePart part);
  bool keeps_parts() const { return part_ != nullptr; }
  /// step() of some values of some parameters, each of which has them in one shape at every step.
  void step_parts(const std::vector<PartGradient>& parts, const StepOptions& options = {});

  /// What an exact resume needs: "lr" and "initial_lr" (f64), "group.0.lr_factor" and "group.0.weight_decay" of groups
  /// whose settings changed since the optimizer was made, for each parameter "0.step" (how often it was updated,
  /// i64) and, once updated, a tensor for each value kept of it, "0.m". They are the optimizer's own tensors: save or
  /// clone them before the next step. After keep_parts() they are the parts; load_state_dict() takes whole ones all the
  /// same.
  std::map<std::string, Tensor> state_dict() const;
  /// Copies a state in; without "initial_lr", which versions up to 0.2 did not save, it becomes the state's "lr". All
  /// or nothing: one Error (format) lists every missing, unexpected and unfitting entry, and those with values that no
  /// run gives: steps below 0 or above 2^53, NaN, infinity, squares below 0.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 protected:
  struct Slot {
    Tensor parameter;
    size_t group = 0;
    int64_t steps = 0;  // updates so far, the running one included
    Tensors kept = {};  // zeros before the first update, one for each state_names()
  };
  /// What the optimizers have in common of their options.
  struct Settings {
    const char* name;  // in messages
    double lr;
    double weight_decay;
    bool check_finite;
    std::vector<std::string> state_names;  // what is kept of each parameter
    std::string squares = {};              // which of these are means of squares, so never negative
    bool halves = false;                   // of f32 parameters, these are bf16
  };

  Optimizer(const ParameterGroups& groups, Settings settings);
  static ParameterGroups one_group(TensorList parameters) {
    return {{.parameters = {parameters.begin(), parameters.end()}}};
  }
  /// Error (config) `name: what must be a number >= 0, got value`.
  static void check_not_negative(const char* name, const char* what, double value);

  struct Update {
    Slot& slot;
    PartGradient of;
    double lr, weight_decay;  // of this parameter
    template <class T>
    T* values() const {
      return Tensor(of.values).mutable_data<T>();
    }
  };
  virtual void update(const std::vector<Update>& updates, double gradient_scale) = 0;  ///< all, or throws before any

 private:
  friend class Schedule;
  friend class OwnState;
  void set_scheduled_lr(double lr);
  DType kept_dtype(const Slot& slot) const;
  void prepare(size_t index, const Tensor& gradient, bool known_finite);
  void add_gradient(size_t number, std::vector<PartGradient>& gradients) const;

  Settings settings_;
  double lr_ = 0, initial_lr_ = 0;
  std::vector<GroupSettings> first_groups_, groups_;  // as the optimizer was made, and now
  std::vector<Slot> slots_;
  StatePart part_;
};

/// While in scope, an optimizer steps with a copy of its state; at the end it has its own again, and its own lr.
class OwnState {
 public:
  explicit OwnState(Optimizer& optimizer);
  ~OwnState();
  OwnState(const OwnState&) = delete;
  OwnState& operator=(const OwnState&) = delete;

 private:
  Optimizer& optimizer_;
  const double lr_, initial_lr_;
  const std::vector<GroupSettings> groups_;
  std::vector<Optimizer::Slot> slots_;
};

}  // namespace tape::optim
