#pragma once

#include <unordered_map>

#include "../../autograd/tape/scope.h"
#include "hook_scope.h"

namespace tape::nn {

/// The shapes of what the modules of a model give while it runs; of several calls the last counts.
class OutputShapes {
 public:
  explicit OutputShapes(Module& module);

  /// "" for a module that was not called, or that gives more than one tensor.
  std::string of(const Module& module) const;

 private:
  std::unordered_map<const Module*, std::string> shapes_;
  HookScope hooks_;
};

/// The tree of modules that printing shows, each with its number of parameters and, where given, its output's shape.
std::string describe(const Module& module, const OutputShapes* shapes = nullptr);

/// The tree with the output shapes that these inputs lead to: summary(model, ids). Records nothing.
template <class M, class... A>
std::string summary(M& model, const A&... inputs) {
  const OutputShapes shapes(model);
  const NoGrad no_grad;
  call(model, inputs...);
  return describe(model, &shapes);
}

}  // namespace tape::nn
