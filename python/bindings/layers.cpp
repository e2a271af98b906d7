// Layers whose arguments are not those of C++: templates, and values that convert from integers.
#include "bindings.h"

namespace tape::python {
namespace {

using nb::arg;
using nn::Module;

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
  bind_pools(m);
}

}  // namespace tape::python
