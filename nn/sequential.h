#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "module/child.h"

namespace tape::nn {

/// Runs modules and functions of one tensor one after another:
///
///     nn::Sequential net;
///     net.add<nn::Linear>(784, 128).add(relu).add<nn::Linear>(128, 10);
///
/// Names are positions, as in PyTorch, and functions count: "0.weight", "0.bias", "2.weight", "2.bias".
class Sequential : public Layer<Sequential> {
 public:
  /// A step without parameters.
  using Function = std::function<Tensor(const Tensor&)>;

  /// Constructs an M from the arguments and appends it; its forward() must take one tensor and return one.
  template <class M, class... A>
  Sequential& add(A&&... arguments) {
    auto child = std::make_shared<Child<M>>(this, std::to_string(size()), std::forward<A>(arguments)...);
    steps_.push_back({[child](const Tensor& x) { return (*child)(x); }, &**child});
    return *this;
  }
  /// Appends a function, such as relu.
  Sequential& add(Function function);
  /// Appends a module that exists already, and how to call it.
  Sequential& add(std::shared_ptr<Module> module, Function run);

  /// Throws Error (config) if it is empty.
  Tensor forward(const Tensor& x);

  /// Number of modules and functions.
  int64_t size() const { return static_cast<int64_t>(steps_.size()); }
  /// Returns the module at a position. Throws Error (index) outside [0, size()), Error (config) if it is not an M.
  template <class M>
  M& at(int64_t position) {
    if (M* found = dynamic_cast<M*>(module_at(position))) return *found;
    raise(ErrorKind::config, "Sequential: position {} does not hold a module of this type", position);
  }

 private:
  struct Step {
    Function run;
    Module* module = nullptr;  // null for a function
  };

  Module* module_at(int64_t position) const;

  std::vector<Step> steps_;
};

}  // namespace tape::nn
