#pragma once

#include <unordered_map>

#include "../../autograd/tape/scope.h"
#include "hook_scope.h"

namespace tape::nn {

/// Records the output shapes of a model's modules while it runs; a later call overwrites an earlier one.
class OutputShapes {
 public:
  /// Adds a hook to the module and to each descendant; they must outlive this object.
  explicit OutputShapes(Module& module);

  /// Returns "" for a module that was not called or that returns more than one tensor.
  std::string of(const Module& module) const;

 private:
  std::unordered_map<const Module*, std::string> shapes_;
  HookScope hooks_;
};

/// Returns the printed tree of modules, each with its number of parameters and, if given, its output shape.
std::string describe(const Module& module, const OutputShapes* shapes = nullptr);

/// Returns the tree with the output shapes for these inputs: summary(model, ids). Records nothing on the tape.
template <class M, class... A>
std::string summary(M& model, const A&... inputs) {
  const OutputShapes shapes(model);
  const NoGrad no_grad;
  call(model, inputs...);
  return describe(model, &shapes);
}

}  // namespace tape::nn
