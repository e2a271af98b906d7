// arange, whose arguments have other meanings when one is given, files of tensors, and threads.
#include "bindings.h"

namespace tape::python {
namespace {

using nb::arg;
using Name = std::optional<std::string>;

constexpr const char* kRange =
    "start, start + step, ... up to but excluding end; arange(end) starts at 0. i64 for integers, else f32. Error\n"
    "(config) if step is 0 or leads away from end.";

Tensor whole_range(int64_t start, std::optional<int64_t> end, int64_t step, std::optional<DType> dtype,
                   const Name& device, bool requires_grad) {
  const int64_t first = end ? start : 0, last = end.value_or(start);
  const TensorOptions options = tensor_options(dtype.value_or(i64), device);
  const bool leads_to_end = step != 0 && (last - first) / step >= 0;
  if (options.dtype != i64 || !leads_to_end)  // by doubles, which are exact for smaller dtypes
    return leaf(arange(static_cast<double>(first), static_cast<double>(last), static_cast<double>(step), options),
                requires_grad);
  const int64_t count = (last - first) / step + ((last - first) % step != 0 ? 1 : 0);
  return leaf(arange(0, static_cast<double>(count), 1, options) * step + first, requires_grad);
}

Tensor range(double start, std::optional<double> end, double step, std::optional<DType> dtype, const Name& device,
             bool requires_grad) {
  return leaf(arange(end ? start : 0, end.value_or(start), step, tensor_options(dtype, device)), requires_grad);
}

}  // namespace

void bind_ranges(nb::module_& m) {
  m.def("arange", &whole_range, arg("start"), arg("end").none() = nb::none(), arg("step") = 1, nb::kw_only(),
        arg("dtype").none() = nb::none(), arg("device").none() = nb::none(), arg("requires_grad") = false, kRange);
  m.def("arange", &range, arg("start"), arg("end").none() = nb::none(), arg("step") = 1.0, nb::kw_only(),
        arg("dtype").none() = nb::none(), arg("device").none() = nb::none(), arg("requires_grad") = false, kRange);
}

void bind_files(nb::module_& m) {
  m.def(
      "save_safetensors",
      [](const std::string& path, const std::map<std::string, Tensor>& tensors,
         const std::map<std::string, std::string>& metadata) { save_safetensors(path, tensors, metadata); },
      arg("path"), arg("tensors"), arg("metadata") = std::map<std::string, std::string>(), release,
      "Writes tensors by name to a safetensors file, with texts by name as metadata.");
  m.def(
      "load_safetensors", [](const std::string& path) { return load_safetensors(path).tensors; }, arg("path"), release,
      "The tensors of a safetensors file by name. Error (format) for a damaged file, (io) if it cannot be read.");
}

void bind_threads(nb::module_& m) {
  m.def("num_threads", &kernels::num_threads, "Number of threads that operations use.");
  m.def("set_num_threads", &kernels::set_num_threads, arg("threads"),
        "Sets the number of threads that operations use.");
}

}  // namespace tape::python
