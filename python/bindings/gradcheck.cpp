// Gradient checks and their reports.
#include <fmt/format.h>

#include "exceptions.h"

namespace tape::python {
namespace {

using nb::arg;
using Function = std::function<Tensor(const Tensors&)>;

GradcheckReport check(const Function& function, const Tensors& inputs, nn::Module* module, bool second, double eps,
                      double rtol, double atol, uint64_t seed, int64_t max_elements,
                      const std::vector<std::string>& allow_zero, const std::vector<std::string>& names,
                      int64_t directions, const std::optional<Function>& shadow, double f32_rtol,
                      const std::optional<std::function<void(int64_t, int64_t, const std::string&)>>& progress,
                      double max_seconds, bool blame) {
  GradcheckOptions options{.eps = eps,
                           .rtol = rtol,
                           .atol = atol,
                           .seed = seed,
                           .max_elements = max_elements,
                           .allow_zero = allow_zero,
                           .names = names,
                           .directions = directions,
                           .f32_rtol = f32_rtol,
                           .max_seconds = max_seconds,
                           .blame = blame};
  const Function f = through_python(function);
  if (shadow) options.shadow = through_python(*shadow);
  if (progress) options.progress = *progress;
  if (module)
    return nn::detail::check_module(*module, f, inputs, options, second ? Derivative::second : Derivative::first);
  return second ? gradgradcheck(f, inputs, options) : gradcheck(f, inputs, options);
}

void bind_result(nb::module_& m) {
  using R = GradcheckResult;
  nb::class_<R>(m, "GradcheckResult", "Result of the check of one input or parameter.")
      .def_ro("name", &R::name, "Of the input or parameter.")
      .def_ro("shape", &R::shape, "Of the input or parameter.")
      .def_ro("checked", &R::checked, "Number of elements compared.")
      .def_ro("wrong", &R::wrong, "Number of these that are wrong.")
      .def_ro("max_error", &R::max_error,
              "Largest |analytic - numeric| / max(|analytic|, |numeric|); near zero relative to the scale of rounding.")
      .def_ro("worst", &R::worst, "Index of the element with that error; empty for rank 0 and if nothing is wrong.")
      .def_ro("analytic", &R::analytic, "Its gradient on the tape.")
      .def_ro("numeric", &R::numeric, "Its gradient by central differences.")
      .def_ro("all_zero", &R::all_zero, "Every element of the gradient is 0, and allow_zero does not list it.")
      .def_ro("explanation", &R::explanation, "What the pattern of errors suggests; empty if the gradient is right.")
      .def_ro("kinks", &R::kinks, "Elements where the slopes below and above differ: no derivative to compare with.")
      .def_ro("kink_at", &R::kink_at, "The first of them.")
      .def_ro("slope_below", &R::slope_below, "The slope below it.")
      .def_ro("slope_above", &R::slope_above, "The slope above it.")
      .def_ro("undecided", &R::undecided,
              "Elements whose differences do not converge at any step: neither right nor wrong.")
      .def_ro("undecided_at", &R::undecided_at, "The first of them.")
      .def_ro("undecided_value", &R::undecided_value, "The variable's value there.")
      .def_ro("undecided_gradient", &R::undecided_gradient, "The tape's gradient there.")
      .def_ro("undecided_reason", &R::undecided_reason, "Why the differences are inconclusive.")
      .def_ro("large_steps", &R::large_steps,
              "Elements for which the usual step is too large; a smaller one confirms them.")
      .def_ro("large_step_at", &R::large_step_at, "The first of them.")
      .def_ro("large_step_value", &R::large_step_value, "The variable's value there.")
      .def_ro("large_step", &R::large_step, "The usual step there.")
      .def_ro("smaller_step", &R::smaller_step, "The step that confirms the gradient.")
      .def_ro("directions", &R::directions,
              "Random directions compared instead of elements; `checked` and `wrong` then count them.")
      .def_ro("miss_chance", &R::miss_chance,
              "Probability that all of them miss an error of 1% of the gradient's norm.")
      .def_ro("miss_element", &R::miss_element,
              "Probability that they miss an error as large as one element of average size.")
      .def_prop_ro("share", &R::share, "Fraction of its elements that were compared.")
      .def_prop_ro("ok", &R::ok,
                   "Whether nothing is wrong or undecided, and the gradient is not all zero unless that is allowed.")
      .def("__bool__", &R::ok)
      .def("__repr__", [](const R& self) {
        return fmt::format("GradcheckResult(name='{}', checked={}, wrong={}, max_error={:.1e})", self.name,
                           self.checked, self.wrong, self.max_error);
      });
}

void bind_findings(nb::module_& m) {
  using G = GuiltyOperation;
  nb::class_<G>(m, "GuiltyOperation", "A recorded operation whose gradient is wrong for its own inputs.")
      .def_ro("operation", &G::operation, "As in 'my_gelu'.")
      .def_ro("attributes", &G::attributes, "Of the call, as in 'axis=1, descending=true'; '' if it has none.")
      .def_ro("module_path", &G::module_path, "As in 'layers.1.feed_forward.activation'; '' outside of modules.")
      .def_ro("source", &G::source, "file:line of the call, or ''.")
      .def_ro("place", &G::place, "Number of operations that the function recorded before it.")
      .def_ro("composed", &G::composed, "Whether it is a step of a fused operation, found in a composed scope.")
      .def_prop_ro(
          "derivative", [](const G& self) { return self.derivative == Derivative::first ? 1 : 2; },
          "2: its gradient is right, but the derivative of that is not.")
      .def_ro("gradient", &G::gradient, "Of one input, named 'input 0': its backward against differences.")
      .def("__repr__", [](const G& self) { return to_string(self); });
  using U = UnrecordedRead;
  nb::class_<U>(m, "UnrecordedRead",
                "A value that changes with a variable but was used as a constant by an operation: after detach(), in a "
                "no_grad() block,\nor copied out with numpy() or item().")
      .def_ro("operation", &U::operation, "The operation that used it, as in 'div'.")
      .def_ro("attributes", &U::attributes, "Of the call.")
      .def_ro("module_path", &U::module_path, "Of the call.")
      .def_ro("source", &U::source, "Of the call.")
      .def_ro("place", &U::place, "Number of operations that the function recorded before it.")
      .def_ro("value", &U::value, "As in 'input 1 [3]'.")
      .def_ro("origin", &U::origin, "Where it comes from, if known: 'it is a detach() of input 0'.")
      .def_ro("variables", &U::variables, "Variables that it changes with; empty if unknown.")
      .def("__repr__", [](const U& self) { return to_string(self); });
  using T = UnregisteredTensor;
  nb::class_<T>(m, "UnregisteredTensor",
                "A tensor with gradients that a module uses without registering it, so that it is not trained, saved "
                "or printed.")
      .def_ro("shape", &T::shape, "Of the tensor.")
      .def_ro("operation", &T::operation, "The first operation that used it, as in 'linear'.")
      .def_ro("module_path", &T::module_path, "Where that ran.")
      .def_ro("source", &T::source, "file:line of that call, or ''.")
      .def("__repr__", [](const T& self) { return to_string(self); });
}

/// Adds a call that was found guilty outside of the tape, as in a function of another library.
void add_guilty(GradcheckReport& report, const std::string& operation, const std::string& module_path,
                const std::string& source, int64_t place, bool second, GradcheckResult gradient) {
  report.guilty.push_back({.operation = operation,
                           .attributes = "",
                           .module_path = module_path,
                           .source = source,
                           .place = place,
                           .derivative = second ? Derivative::second : Derivative::first,
                           .gradient = std::move(gradient)});
}

void bind_report(nb::module_& m) {
  using R = GradcheckReport;
  nb::class_<R>(m, "GradcheckReport",
                "Comparison of all gradients of a function with central differences. Prints as a table with a "
                "paragraph for each wrong\ngradient and a line for each guilty operation; true if all are right.")
      .def_ro("variables", &R::variables, "One GradcheckResult per input or parameter checked.")
      .def_ro("guilty", &R::guilty, "Operations with wrong gradients, in the order recorded.")
      .def_ro("unrecorded", &R::unrecorded, "Values that bypassed the tape, in the order recorded.")
      .def_ro("unregistered", &R::unregistered, "Tensors with gradients that are not the module's parameters.")
      .def_ro("blame", &R::blame, "Further findings of the search, '' without a search.")
      .def_ro("seconds", &R::seconds, "Duration of the comparison, without the search.")
      .def_ro("out_of_time", &R::out_of_time, "Whether max_seconds left elements unchecked.")
      .def_prop_ro("share", &R::share, "Fraction of the elements of all variables that were compared.")
      .def_prop_ro("ok", &R::ok,
                   "Whether every variable is ok and no tensor is unregistered; elements left unchecked do not count.")
      .def("__bool__", &R::ok)
      .def("__repr__", [](const R& self) { return to_string(self); })
      .def(
          "to_json", [](const R& self) { return to_json(self); },
          "A JSON object with keys named like the fields here. Non-finite numbers are the strings 'nan', 'inf' and "
          "'-inf'.")
      .def("_add_guilty", &add_guilty)
      .def("_set_blame", [](R& self, const std::string& text) { self.blame = text; });
}

}  // namespace

void bind_gradcheck(nb::module_& m) {
  bind_result(m);
  bind_findings(m);
  bind_report(m);
  m.def("_gradcheck", &check, arg("function"), arg("inputs"), arg("module").none(), arg("second"), nb::kw_only(),
        arg("eps"), arg("rtol"), arg("atol"), arg("seed"), arg("max_elements"), arg("allow_zero"), arg("names"),
        arg("directions"), arg("shadow").none(), arg("f32_rtol"), arg("progress").none(), arg("max_seconds"),
        arg("blame"), release);
}

}  // namespace tape::python
