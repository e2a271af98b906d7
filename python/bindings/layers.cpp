// Layers whose arguments are not those of C++: lists of steps, templates, and values that convert from integers.
#include "bindings.h"

namespace tape::python {
namespace {

using nb::arg;
using nn::Module;

void bind_sequential(nb::module_& m) {
  const auto append = [](nb::handle object, nb::handle step) {
    if (!PyCallable_Check(step.ptr()))
      throw nb::type_error(("Sequential: takes modules and functions of one tensor, got " +
                            std::string(nb::type_name(step.type()).c_str()))
                               .c_str());
    auto& self = nb::cast<nn::Sequential&>(object);
    // Looks the step up in each call, since an assignment to the attribute of this name may replace it.
    const std::string name = std::to_string(self.size());
    const auto run = [&self, name](const Tensor& x) {
      const nb::gil_scoped_acquire gil;
      const nb::object present = nb::getattr(nb::find(self), name.c_str(), nb::none());
      if (present.is_none()) raise(ErrorKind::config, "Sequential: step {} was removed", name);
      return returned<Tensor>(present(x), "a tensor", "Sequential: step " + name);
    };
    if (nb::isinstance<Module>(step))
      self.add(nb::cast<std::shared_ptr<Module>>(step), run);
    else
      self.add(run);
    nb::object(object.attr("__dict__"))[name.c_str()] = step;
  };
  nb::class_<nn::Sequential, Module>(
      m, "Sequential",
      "Runs modules and functions of one tensor one after another. Names are positions, and functions count.")
      .def(
          "__init__",
          [append](nb::pointer_and_handle<nn::Sequential> self, const nb::args& steps) {
            new (self.p) nn::Sequential();
            nb::inst_mark_ready(self.h);
            for (nb::handle step : steps) append(self.h, step);
          },
          arg("steps"))
      .def("append", append, arg("step"), "Appends a module or a function of one tensor.")
      .def("forward", &nn::Sequential::forward, arg("x"), release, "The last step's output.")
      .def("__len__", &nn::Sequential::size)
      .def(
          "__getitem__",
          [](nb::handle self, int64_t position) {
            const int64_t size = nb::cast<nn::Sequential&>(self).size();
            if (position < -size || position >= size) throw nb::index_error("Sequential: there is no such step");
            return nb::object(self.attr(std::to_string(position < 0 ? position + size : position).c_str()));
          },
          arg("position"), "The module at a position.");
}

/// A pooling layer; `more` sets the options that only its kind has.
template <class Layer, class Options, class... Extra, class F>
void bind_pool(nb::module_& m, const char* name, const char* doc, const F& more, const Extra&... extra) {
  const auto construct = [more](Layer* self, const SpatialSizes& kernel, const SpatialSizes& stride,
                                const SpatialSizes& padding, bool ceil_mode, auto... given) {
    Options options{.stride = stride, .padding = padding};
    options.ceil_mode = ceil_mode;
    more(options, given...);
    new (self) Layer(kernel, options);
  };
  const auto init = [&](auto function) {
    nb::class_<Layer, Module>(m, name, doc)
        .def("__init__", function, arg("kernel"), nb::kw_only(), arg("stride").none() = nb::none(), arg("padding") = 0,
             arg("ceil_mode") = false, extra...)
        .def(
            "forward", [](Layer& self, const Tensor& x) { return self.forward(x); }, arg("x"), release);
  };
  if constexpr (std::same_as<Options, MaxPoolOptions>)
    init([construct](Layer* self, const SpatialSizes& kernel, const SpatialSizes& stride, const SpatialSizes& padding,
                     bool ceil_mode,
                     const SpatialSizes& dilation) { construct(self, kernel, stride, padding, ceil_mode, dilation); });
  else
    init([construct](Layer* self, const SpatialSizes& kernel, const SpatialSizes& stride, const SpatialSizes& padding,
                     bool ceil_mode, bool count) { construct(self, kernel, stride, padding, ceil_mode, count); });
}

void bind_pools(nb::module_& m) {
  const auto dilated = [](MaxPoolOptions& options, const SpatialSizes& dilation) { options.dilation = dilation; };
  const auto counted = [](AvgPoolOptions& options, bool count) { options.count_include_pad = count; };
  const char* const most = "Maximum of each window; as max_pool1d() and max_pool2d().";
  const char* const mean = "Mean of each window; as avg_pool1d() and avg_pool2d().";
  bind_pool<nn::MaxPool1d, MaxPoolOptions>(m, "MaxPool1d", most, dilated, arg("dilation") = 1);
  bind_pool<nn::MaxPool2d, MaxPoolOptions>(m, "MaxPool2d", most, dilated, arg("dilation") = 1);
  bind_pool<nn::AvgPool1d, AvgPoolOptions>(m, "AvgPool1d", mean, counted, arg("count_include_pad") = true);
  bind_pool<nn::AvgPool2d, AvgPoolOptions>(m, "AvgPool2d", mean, counted, arg("count_include_pad") = true);
}

void bind_positions(nb::module_& m) {
  nb::class_<nn::Positions>(m, "Positions",
                            "Positions of a call's tokens in their texts: counted from 0, from a first one on, or one "
                            "per token, ids [B, T] or [T].")
      .def(nb::init<>())
      .def(nb::init<int64_t>(), arg("first"))
      .def(nb::init<const Tensor&>(), arg("ids"));
  nb::implicitly_convertible<int64_t, nn::Positions>();
  nb::implicitly_convertible<Tensor, nn::Positions>();
  nb::class_<nn::KeyValueCache>(m, "KeyValueCache",
                                "Keys and values of the positions that B sequences have seen so far.")
      .def(nb::init<>())
      .def(nb::init<Tensor, Tensor>(), arg("keys"), arg("values"))
      .def_prop_ro("length", &nn::KeyValueCache::length, "Number of positions seen.")
      .def("keys", &nn::KeyValueCache::keys, "[B, size, kv_heads D].")
      .def("values", &nn::KeyValueCache::values, "[B, size, kv_heads D].")
      .def("append", &nn::KeyValueCache::append, arg("keys"), arg("values"),
           "Appends the next positions [B, T, kv_heads D].");
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_positions(m);
  bind_sequential(m);
  bind_pools(m);
}

}  // namespace tape::python
