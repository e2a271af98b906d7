// Backward passes, scopes, custom operations, transforms and gradient checks.
#include <nanobind/stl/tuple.h>

#include "bindings.h"

namespace tape::python {
namespace {

using nb::arg;
using Optionals = std::vector<std::optional<Tensor>>;

Tensors defined_or_empty(const Optionals& given) {
  Tensors tensors;
  for (const auto& tensor : given) tensors.push_back(tensor.value_or(Tensor()));
  return tensors;
}

Optionals none_where_undefined(const Tensors& tensors) {
  Optionals result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.defined() ? std::optional(tensor) : std::nullopt);
  return result;
}

/// An open scope; close() ends it. Scopes must be closed in the reverse order, which `with` ensures.
struct OpenScope {
  std::shared_ptr<void> scope;
};

template <class T, class... A>
OpenScope open(A... arguments) {
  return {std::make_shared<T>(arguments...)};
}

void bind_scopes(nb::module_& m) {
  nb::class_<OpenScope>(m, "_OpenScope").def("close", [](OpenScope& self) { self.scope.reset(); });
  m.def("_open_no_grad", &open<NoGrad>);
  m.def("_open_enable_grad", &open<EnableGrad>);
  m.def("_open_composed", &open<Composed>);
  m.def("_open_device", &open<DeviceScope, Device>, arg("device"));
  m.def("_open_matmul_precision", &open<MatmulPrecisionScope, MatmulPrecision>, arg("precision"));
  m.def("_open_autocast", &open<AutocastScope, DType>, arg("dtype"));
  m.def("_open_trace", &open<Trace>);
  m.def("is_grad_enabled", &grad_enabled, "Whether operations on tensors that require gradients are recorded.");
}

// --- custom operations ---

/// A context as an object of Python, which a program may keep for longer than the call it belongs to.
template <class Context>
struct ContextObject {
  Context* context;
  Context& get() const {
    if (!context)
      raise(ErrorKind::graph, "custom: a context can be used only while the function runs that received it");
    return *context;
  }
};

/// Calls a function of Python with the context.
template <class Context>
nb::object call_with(nb::handle function, Context& context) {
  const nb::object argument = nb::cast(ContextObject<Context>{&context});
  struct Leave {
    ContextObject<Context>& object;
    ~Leave() { object.context = nullptr; }
  } const leave{nb::cast<ContextObject<Context>&>(argument)};
  return function(argument);
}

Tensors list_from(nb::handle result, const std::string& function) {
  if (Tensor tensor; nb::try_cast(result, tensor)) return {tensor};
  return returned<Tensors>(result, "a tensor or a tuple of tensors", function);
}

/// Calls apply(context, *inputs) of Python, and its gradient in the backward pass.
nb::object custom_operation(const std::string& name, const Tensors& inputs, nb::callable forward,
                            nb::callable backward) {
  bool single = false;
  const HeldObject held(backward);  // the tape keeps it
  const Tensors outputs = custom(
      name, inputs,
      [&](ForwardContext& context) -> Tensors {
        const nb::gil_scoped_acquire gil;
        nb::object result = call_with(forward, context);
        single = nb::isinstance<Tensor>(result);
        return list_from(result, "forward of '" + name + "'");
      },
      [held, name](const BackwardContext& context) -> Tensors {
        const nb::gil_scoped_acquire gil;
        nb::object result = call_with(held.get(), context);
        if (result.is_none()) return {Tensor()};
        if (Tensor tensor; nb::try_cast(result, tensor)) return {tensor};
        return defined_or_empty(returned<Optionals>(result, "tensors or None", "backward of '" + name + "'"));
      });
  return single ? nb::cast(outputs[0]) : nb::tuple(nb::cast(outputs));
}

void bind_custom(nb::module_& m) {
  using Forward = ContextObject<ForwardContext>;
  using Backward = ContextObject<const BackwardContext>;
  nb::class_<Forward>(m, "ForwardContext", "Inputs of a custom operation, and what it saves for its gradient.")
      .def_prop_ro("inputs", [](const Forward& self) { return self.get().inputs(); })
      .def(
          "needs", [](const Forward& self, size_t input) { return self.get().needs(input); }, arg("input"),
          "Whether an input needs a gradient.")
      .def(
          "save", [](const Forward& self, const Tensors& values) { self.get().save(values); }, arg("values"),
          "Saves tensors, which the gradient reads as context.saved(0), context.saved(1), ...")
      .def(
          "mark_non_differentiable",
          [](const Forward& self, size_t output) { self.get().mark_non_differentiable(output); }, arg("output"),
          "Output i has no gradient.");
  nb::class_<Backward>(m, "BackwardContext",
                       "What a custom gradient reads: gradients of the outputs, and saved values.")
      .def(
          "grad", [](const Backward& self, size_t output) { return self.get().grad(output); }, arg("output") = 0,
          "Gradient of an output; zeros if it received none.")
      .def(
          "has_grad", [](const Backward& self, size_t output) { return self.get().has_grad(output); }, arg("output"),
          "Whether an output received a gradient.")
      .def(
          "saved", [](const Backward& self, size_t number) { return self.get().saved(number); }, arg("number"),
          "A saved value. Error (graph) if it was modified in place.")
      .def(
          "needs", [](const Backward& self, size_t input) { return self.get().needs(input); }, arg("input"),
          "Whether an input needs a gradient.")
      .def_prop_ro(
          "create_graph", [](const Backward& self) { return self.get().create_graph(); },
          "Whether the gradient will itself be differentiated.");
  m.def("custom", &custom_operation, arg("name"), arg("inputs"), arg("forward"), arg("backward"),
        "An operation with a gradient of your own, recorded as `name`: forward(context) computes the output or a tuple "
        "of\n"
        "outputs from context.inputs, backward(context) returns one gradient per input, None for zero. See Function "
        "for a class.");
}

void bind_transforms(nb::module_& m) {
  m.def(
      "jvp",
      [](nb::callable f, const Tensors& inputs, const Optionals& tangents) {
        const Jvp result = jvp(function_of_tensors(f), inputs, defined_or_empty(tangents));
        return std::pair(result.value, result.tangent);
      },
      arg("function"), arg("inputs"), arg("tangents"),
      "f(*inputs) and its derivative along the tangents: (value, tangent). The tangent of an integer or bool input is "
      "None.");
  m.def(
      "vjp",
      [](nb::callable f, const Tensors& inputs, const std::optional<Tensor>& seed) {
        const Vjp result = vjp(function_of_tensors(f), inputs, seed.value_or(Tensor()));
        return std::pair(result.value, none_where_undefined(result.gradients));
      },
      arg("function"), arg("inputs"), arg("gradient").none() = nb::none(),
      "f(*inputs) and the gradients of the inputs for a gradient of the output, which may be omitted if it is a single "
      "value.\n\n"
      "The gradient of an integer or bool input is None.");
  m.def(
      "hvp",
      [](nb::callable f, const Tensors& inputs, const Optionals& directions) {
        const Hvp result = hvp(function_of_tensors(f), inputs, defined_or_empty(directions));
        return std::tuple(result.value, none_where_undefined(result.gradient), none_where_undefined(result.product));
      },
      arg("function"), arg("inputs"), arg("directions"),
      "f(*inputs), its gradients, and the product of its Hessian with the directions; None for an integer or bool "
      "input.");
  m.def(
      "jacobian",
      [](nb::callable f, const Tensors& inputs) {
        return none_where_undefined(jacobian(function_of_tensors(f), inputs));
      },
      arg("function"), arg("inputs"),
      "Derivative of every element of f(*inputs) with respect to every element of each input: [*output, *input]; None "
      "for an integer or bool input.");
  m.def(
      "hessian",
      [](nb::callable f, const Tensors& inputs) {
        std::vector<Optionals> rows;
        for (const Tensors& row : hessian(function_of_tensors(f), inputs)) rows.push_back(none_where_undefined(row));
        return rows;
      },
      arg("function"), arg("inputs"),
      "Second derivatives of a scalar f(*inputs), for each pair of inputs; None where one is an integer or bool.");
  m.def(
      "checkpoint",
      [](nb::callable f, const Tensors& inputs) -> std::variant<Tensor, nb::tuple> {
        const auto single = std::make_shared<bool>(false);
        const auto function = [held = HeldObject(std::move(f)), single](const Tensors& in) {
          const nb::gil_scoped_acquire gil;
          const nb::object result = held.get()(*nb::cast(in));
          *single = nb::isinstance<Tensor>(result);
          return list_from(result, "function");
        };
        const Tensors outputs = checkpoint(function, inputs);
        if (*single) return outputs.front();
        return nb::tuple(nb::cast(outputs));
      },
      arg("function"), arg("inputs"),
      "f(*inputs), a tensor or a tuple of tensors, without keeping its intermediate values: the backward pass computes "
      "them again.");
}

}  // namespace

void bind_autograd(nb::module_& m) {
  bind_scopes(m);
  bind_custom(m);
  bind_transforms(m);
  m.def(
      "backward",
      [](const Tensors& outputs, const std::optional<Optionals>& gradients, bool retain_graph, bool create_graph) {
        backward(outputs, gradients ? defined_or_empty(*gradients) : Tensors(),
                 {.retain_graph = retain_graph, .create_graph = create_graph});
      },
      arg("outputs"), arg("gradients").none() = nb::none(), nb::kw_only(), arg("retain_graph") = false,
      arg("create_graph") = false, release,
      "Accumulates the gradients of several outputs into `grad` of every leaf they depend on.");
  m.def(
      "grad",
      [](const std::variant<Tensor, Tensors>& outputs, const std::variant<Tensor, Tensors>& inputs,
         const std::optional<Optionals>& gradients, bool retain_graph, bool create_graph,
         bool allow_unused) -> std::variant<std::optional<Tensor>, Optionals> {
        const auto list = [](const std::variant<Tensor, Tensors>& given) {
          return std::holds_alternative<Tensor>(given) ? Tensors{std::get<Tensor>(given)} : std::get<Tensors>(given);
        };
        const Optionals found =
            none_where_undefined(grad(list(outputs), list(inputs),
                                      {.gradients = gradients ? defined_or_empty(*gradients) : Tensors(),
                                       .retain_graph = retain_graph,
                                       .create_graph = create_graph,
                                       .allow_unused = allow_unused}));
        if (std::holds_alternative<Tensor>(inputs)) return found[0];
        return found;
      },
      arg("outputs"), arg("inputs"), arg("gradients").none() = nb::none(), nb::kw_only(), arg("retain_graph") = false,
      arg("create_graph") = false, arg("allow_unused") = false, release,
      "Gradients of the outputs with respect to the inputs, without touching any `grad`: a tensor for one input, a "
      "list for a list.\n\n"
      "`gradients` are the seeds, one per output. With `allow_unused`, the gradient of an input that no output depends "
      "on is None\n"
      "instead of an Error (graph).");
}

void bind_random(nb::module_& m) {
  nb::class_<Generator>(m, "Generator",
                        "Random numbers that depend only on a seed and a counter (Philox4x32-10, Salmon et al. 2011).")
      .def(nb::init<>())
      .def(nb::init<uint64_t>(), arg("seed"))
      .def_prop_ro("seed", &Generator::seed, "As passed to the constructor or set_state().")
      .def_prop_ro("counter", &Generator::counter, "Number of values drawn.")
      .def("set_state", &Generator::set_state, arg("seed"), arg("counter"),
           "Continues after the first `counter` values of a seed.")
      .def("uniform", &Generator::uniform, "Uniform in [0, 1).");
  m.def("manual_seed", &manual_seed, arg("seed"), "Resets all random streams of this thread.");
  m.def("generator", &generator, arg("stream"), nb::rv_policy::reference,
        "This thread's generator of a stream: 'init', 'dropout', 'shuffle' or 'sampling'. It lives as long as the "
        "thread.");
}

void bind_mask(nb::module_& m) {
  nb::class_<Mask>(
      m, "Mask",
      "Which keys each query may attend to; `&` combines masks: Mask.causal() & Mask.padding(ids, 0).\n\n"
      "Masks broadcast to the scores [B, H, Tq, Tk]. A query with no visible key has output 0 and gradient 0.")
      .def(nb::init<>())
      .def_static("causal", &Mask::causal, arg("offset") = 0, "Query i sees keys 0 .. i + offset.")
      .def_static("window", &Mask::window, arg("left"), arg("right"), arg("offset") = 0,
                  "Query i sees keys i + offset - left .. i + offset + right.")
      .def_static("padding", &Mask::padding, arg("ids"), arg("padding_id"),
                  "Hides the keys whose id is the padding id: ids [B, Tk] or [Tk].")
      .def_static("keep", &Mask::keep, arg("keep"),
                  "True keeps a key, False hides it; bool, broadcast to [B, H, Tq, Tk].")
      .def_static("additive", &Mask::additive, arg("scores"), "A bias added to the scaled scores before the softmax.")
      .def(
          "__and__", [](const Mask& a, const Mask& b) { return a & b; }, nb::is_operator())
      .def_prop_ro("empty", &Mask::empty, "Whether the mask hides nothing and has no bias.")
      .def(
          "to_tensor", [](const Mask& self, int64_t queries, int64_t keys) { return self.to_tensor(queries, keys); },
          arg("query_length"), arg("key_length"),
          "The mask as a bool tensor that broadcasts to [B, H, query_length, key_length].");
}

}  // namespace tape::python
