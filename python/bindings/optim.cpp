// Base classes of optimizers and schedules.
#include "bindings.h"

namespace tape::python {

using nb::arg;

void bind_optimizer(nb::module_& m) {
  using optim::Optimizer;
  using optim::Schedule;
  nb::class_<optim::ParameterGroup>(m, "ParameterGroup", "Parameters with settings of their own.")
      .def(
          "__init__",
          [](optim::ParameterGroup* self, const Tensors& parameters, double lr_factor,
             std::optional<double> weight_decay) {
            new (self)
                optim::ParameterGroup{.parameters = parameters, .lr_factor = lr_factor, .weight_decay = weight_decay};
          },
          arg("parameters"), nb::kw_only(), arg("lr_factor") = 1.0, arg("weight_decay").none() = nb::none());
  nb::class_<Optimizer>(m, "Optimizer", "Base class of optimizers: parameters and the state of each between steps.")
      .def_prop_rw("lr", &Optimizer::lr, &Optimizer::set_lr, "Learning rate of the next step.")
      .def_prop_ro("initial_lr", &Optimizer::initial_lr, "The lr that schedules start from.")
      .def(
          "step", [](Optimizer& self, double gradient_scale) { self.step({.gradient_scale = gradient_scale}); },
          nb::kw_only(), arg("gradient_scale") = 1.0, release,
          "Updates every parameter that has a gradient. Error (numeric) with the parameter's name for NaN and "
          "infinity.")
      .def("zero_grad", &Optimizer::zero_grad, "Discards all gradients.")
      .def("parameters", &Optimizer::parameters, "The parameters of all groups, in order.")
      .def("group_count", &Optimizer::group_count, "Number of groups.")
      .def(
          "set_group",
          [](Optimizer& self, size_t number, std::optional<double> lr_factor, std::optional<double> weight_decay) {
            optim::GroupSettings settings = self.group(number);
            settings.lr_factor = lr_factor.value_or(settings.lr_factor);
            settings.weight_decay = weight_decay.value_or(settings.weight_decay);
            self.set_group(number, settings);
          },
          arg("number"), nb::kw_only(), arg("lr_factor").none() = nb::none(), arg("weight_decay").none() = nb::none(),
          "Changes the given settings of a group from the next step on.")
      .def("state_dict", &Optimizer::state_dict, "Everything for an exact resume, by name.")
      .def("load_state_dict", &Optimizer::load_state_dict, arg("state"),
           "Copies a state in. Error (format) lists all that does not fit.");
  nb::class_<Schedule>(m, "Schedule",
                       "Sets an optimizer's lr before each of its steps, with a formula of the step, counted from 1.")
      .def(
          "__init__",
          [](Schedule* self, Optimizer& optimizer, nb::callable formula) {
            new (self) Schedule(optimizer, [held = HeldObject(std::move(formula))](int64_t step) {
              const nb::gil_scoped_acquire gil;
              return returned<double>(held.get()(step), "the lr", "formula");
            });
          },
          arg("optimizer"), arg("formula"), nb::keep_alive<1, 2>())
      .def("step", &Schedule::step, "Sets the lr of the optimizer's next step; call it after the optimizer's step().")
      .def_prop_rw("last_step", &Schedule::last_step, &Schedule::set_last_step,
                   "Number of steps done: the only state to save.")
      .def_prop_ro("lr", &Schedule::lr, "The lr of the optimizer's next step.")
      .def("lr_at", &Schedule::lr_at, arg("step"), "The formula's lr for any step, counted from 1.");
}

}  // namespace tape::python
