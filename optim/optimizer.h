#pragma once

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

struct StepOptions {
  double gradient_scale = 1;  ///< every gradient counts times this: clip_scale(), in the pass that updates
  bool known_finite = false;  ///< grad_norm() has looked at the gradients: they are not looked at again
};

/// A stretch of a parameter's values, row-major: [begin, begin + count).
struct Slice {
  int64_t begin = 0;
  int64_t count = 0;
};
/// The gradient of a stretch of a parameter, as one row.
struct GradientSlice {
  size_t parameter = 0;  ///< its number
  Tensor values;         ///< of the slice that is kept of it
  Tensor updated = {};   ///< where the slice's own values lie, as one row; undefined: in the parameter
};

/// Base of the optimizers: it holds handles of the parameters, walks those that have a gradient, and keeps what each
/// needs between steps.
///
/// Gradients add up in grad() until zero_grad(). So k micro-batches, each with its loss divided by k and its own
/// backward(), followed by one step(), are one batch of k times the size.
///
/// Parameters are numbered in the order given, through all groups, from 0. Error (config) for: no parameter at all, one
/// that is no leaf requiring gradients, one given twice, a setting out of range.
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
  /// Updates every parameter that has a gradient, in place, so that a backward through values of before the step is
  /// refused. Error (numeric) naming the parameter where a gradient holds NaN or infinity (unless .check_finite is
  /// false), Error (graph) where the parameter changed its shape or dtype since the last step; nothing is changed then.
  void step(const StepOptions& options = {});
  /// step() of one parameter, by its number, with the gradient that it has; nothing where it has none.
  void step_parameter(size_t number, const StepOptions& options = {});
  /// Drops the gradients.
  void zero_grad();

  /// From now on keeps state of, and updates, these stretches alone, one a parameter (some may be empty): for several
  /// processes that share the work. What is kept already is cut. Error (config) for another number of them, one that is
  /// not within its parameter, and for a second call.
  void keep_slices(const std::vector<Slice>& slices);
  bool keeps_slices() const { return slots_.front().slice.has_value(); }
  /// step() with the gradients of the kept stretches of those parameters that have one on any process.
  void step_slices(const std::vector<GradientSlice>& gradients, const StepOptions& options = {});
  Tensors parameters() const;

  /// What an exact resume needs: "lr" and "initial_lr" (f64), for each parameter "0.step" (how often it was updated,
  /// i64) and, once updated, a tensor for each value kept of it, "0.m". They are the optimizer's own tensors: save or
  /// clone them before the next step. After keep_slices() they are rows of what is kept; load_state_dict() takes whole
  /// ones all the same.
  std::map<std::string, Tensor> state_dict() const;
  /// Copies a state in; without "initial_lr", which versions up to 0.2 did not save, it becomes the state's "lr". All
  /// or nothing: one Error (format) lists every missing, unexpected and unfitting entry, and those with values that no
  /// run gives: steps below 0 or above 2^53, NaN, infinity, squares below 0.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 protected:
  struct Slot {
    Tensor parameter;
    double lr_factor = 1;
    double weight_decay = 0;
    int64_t steps = 0;                // updates so far, the running one included
    Tensors kept = {};                // zeros before the first update, one for each kept_names()
    std::optional<Slice> slice = {};  // what is updated and kept, where that is not all
    int64_t begin() const { return slice ? slice->begin : 0; }
    void keep(const Slice& part);
    Shape kept_shape() const { return slice ? Shape{slice->count} : parameter.shape(); }
  };
  /// What the optimizers have in common of their options.
  struct Settings {
    const char* name;  // in messages
    double lr;
    double weight_decay;
    bool check_finite;
    std::vector<std::string> kept_names;  // what is kept of each parameter
    std::string squares = {};             // which of these are means of squares, so never negative
    bool halves = false;                  // of f32 parameters, these are bf16
  };

  Optimizer(const ParameterGroups& groups, Settings settings);
  static ParameterGroups one_group(TensorList parameters) {
    return {{.parameters = {parameters.begin(), parameters.end()}}};
  }
  /// Error (config) `name: what must be a number >= 0, got value`.
  static void check_not_negative(const char* name, const char* what, double value);

  struct Update {
    Slot& slot;
    size_t number;    // of the parameter
    Tensor gradient;  // of the values that are updated
    double lr;        // of this parameter
    Tensor updated;   // what holds these values, from `begin` on
    int64_t begin;
    template <class T>
    T* values() const {
      return Tensor(updated).mutable_data<T>() + begin;
    }
  };
  virtual void update(const std::vector<Update>& updates, double gradient_scale) = 0;  ///< all, or throws before any

 private:
  friend class Schedule;
  friend class OwnState;
  void set_scheduled_lr(double lr);
  DType kept_dtype(const Slot& slot) const;
  void prepare(size_t index, const Tensor& gradient, bool known_finite);
  void add_gradient(size_t number, std::vector<GradientSlice>& gradients) const;
  void apply(const std::vector<GradientSlice>& gradients, const StepOptions& options);

  Settings settings_;
  double lr_ = 0, initial_lr_ = 0;
  std::vector<Slot> slots_;
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
  std::vector<Optimizer::Slot> slots_;
};

}  // namespace tape::optim
