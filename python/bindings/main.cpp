#include "base/version.h"
#include "training.h"

namespace tape::python {

nb::module_ sub(nb::module_& root, std::string_view name) {
  nb::module_ found = nb::borrow<nb::module_>(root);
  while (!name.empty()) {
    const size_t dot = name.find('.');
    const std::string part(name.substr(0, dot));
    found = nb::hasattr(found, part.c_str()) ? nb::borrow<nb::module_>(found.attr(part.c_str()))
                                             : found.def_submodule(part.c_str());
    name = dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
  }
  return found;
}

namespace {

void bind_dtype(nb::module_& m) {
  nb::enum_<DType> type(m, "DType", "Element type of a tensor.");
  for (const DType dtype : {boolean, u8, i32, i64, f16, bf16, f32, f64}) {
    const std::string name(dtype == boolean ? "boolean" : to_string(dtype));
    type.value(name.c_str(), dtype);
    m.attr(name.c_str()) = nb::cast(dtype);
  }
  for (const char* const method : {"__repr__", "__str__"})
    type.def(method,
             [](DType dtype) { return "tapeformer." + std::string(dtype == boolean ? "bool" : to_string(dtype)); });
  type.def_prop_ro(
      "is_floating", [](DType dtype) { return is_floating(dtype); }, "Whether tensors of it carry gradients.");
  type.def_prop_ro(
      "itemsize", [](DType dtype) { return size_of(dtype); }, "Size of one element in bytes.");
}

}  // namespace
}  // namespace tape::python

NB_MODULE(_tapeformer, m) {
  using namespace tape::python;
  using tape::Tensor;
  m.doc() = "Tapeformer's engine.";
  nb::set_leak_warnings(false);  // a program may end with models and graphs alive
  bind_error(m);
  bind_dtype(m);
  nb::class_<Tensor> tensor(
      m, "Tensor",
      "A dense, contiguous, row-major array with gradients. Copying a Tensor copies a handle to the same values.");
  bind_random(m);
  bind_mask(m);
  bind_values_of_tensors(tensor, m);
  bind_tensor(tensor);
  bind_ranges(m);
  bind_files(m);
  bind_threads(m);
  bind_autograd(m);
  nb::module_ nn = sub(m, "nn"), optim = sub(m, "optim"), text = sub(m, "text"), models = sub(m, "models"),
              train = sub(m, "train");
  bind_module(nn);
  bind_layers(nn);
  bind_optimizer(optim);
  bind_tokenizer(text);
  bind_gradcheck(m);
  bind_inspect(m);
  bind_command(m);
  bind_generated(m, tensor);
  bind_folders_of_models(models);
  bind_training(train);
  bind_trainer(train);
  m.attr("__version__") = tape::version();
  // What `from _tapeformer import *` takes: no submodules, which the package has under the same names.
  nb::list names;
  for (nb::handle name : m.attr("__dict__").attr("keys")()) {
    const std::string text = nb::cast<std::string>(name);
    if (!text.starts_with("_") && !PyModule_Check(nb::object(m.attr(text.c_str())).ptr())) names.append(name);
  }
  m.attr("__all__") = names;
}
