#include "nn/sequential.h"

namespace tape::nn {

Sequential& Sequential::add(Function function) {
  if (!function) raise(ErrorKind::config, "Sequential: the function at position {} is empty", size());
  steps_.push_back({std::move(function)});
  return *this;
}

Sequential& Sequential::add(std::shared_ptr<Module> module, Function run) {
  Module* const added = module.get();
  register_module(std::to_string(size()), std::move(module));
  steps_.push_back({std::move(run), added});
  return *this;
}

Tensor Sequential::forward(const Tensor& x) {
  if (steps_.empty()) raise(ErrorKind::config, "Sequential: has no layers");
  Tensor y = x;
  for (const Step& step : steps_) y = step.run(y);
  return y;
}

Module* Sequential::module_at(int64_t position) const {
  if (position < 0 || position >= size())
    raise(ErrorKind::index, "Sequential: position {} is outside [0, {})", position, size());
  const std::string name = std::to_string(position);
  for (const auto& [child_name, child] : named_children())  // another one may have been registered in its place
    if (child_name == name) return child;
  return nullptr;
}

}  // namespace tape::nn
