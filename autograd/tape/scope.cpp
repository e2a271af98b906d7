#include "autograd/tape/scope.h"

#include <utility>
#include <vector>

#include "autograd/kernels/bf16_road.h"
#include "autograd/tape/listeners.h"
#include "autograd/tape/scope_state.h"
#include "base/error.h"

namespace tape {
namespace {
thread_local bool grad_mode = true;
thread_local bool composed_mode = false;
thread_local MatmulPrecision matmul_precision = MatmulPrecision::highest;
thread_local std::vector<std::string_view> module_names;
}  // namespace

bool grad_enabled() { return grad_mode; }

NoGrad::NoGrad() : previous_(grad_mode) { grad_mode = false; }
NoGrad::~NoGrad() { grad_mode = previous_; }

EnableGrad::EnableGrad(bool enabled) : previous_(grad_mode) { grad_mode = enabled; }
EnableGrad::~EnableGrad() { grad_mode = previous_; }

Composed::Composed() : previous_(composed_mode) { composed_mode = true; }
Composed::~Composed() { composed_mode = previous_; }
bool Composed::active() { return composed_mode; }

MatmulPrecisionScope::MatmulPrecisionScope(MatmulPrecision precision)
    : previous_(std::exchange(matmul_precision, precision)) {}
MatmulPrecisionScope::~MatmulPrecisionScope() { matmul_precision = previous_; }
MatmulPrecision MatmulPrecisionScope::current() { return matmul_precision; }

MatmulPrecision matmul_precision_in_use(MatmulPrecision asked) { return kernels::precision_in_use(asked); }

ModuleScope::ModuleScope(std::string_view name) {
  module_names.emplace_back(name);
  try {
    observe([](Observer& observer) { observer.module_entered(path()); });
  } catch (...) {
    module_names.pop_back();
    throw;
  }
}
ModuleScope::~ModuleScope() {
  observe([](Observer& observer) { observer.module_left(path()); });
  module_names.pop_back();
}

std::string ModuleScope::path() {
  std::string path;
  for (std::string_view name : module_names) {
    if (name.empty()) continue;
    if (!path.empty()) path += '.';
    path += name;
  }
  return path;
}

ScopeState ScopeState::now() {
  return {composed_mode, MatmulPrecisionScope::current(), Trace::active(), ModuleScope::path()};
}

ScopesAs::ScopesAs(const ScopeState& state)
    : composed_(std::exchange(composed_mode, state.composed)),
      matmul_precision_(std::exchange(matmul_precision, state.matmul_precision)),
      module_names_(std::exchange(module_names, {state.module_path})) {
  if (state.trace) trace_.emplace();
}

ScopesAs::~ScopesAs() {
  composed_mode = composed_;
  matmul_precision = matmul_precision_;
  module_names = std::move(module_names_);
}

}  // namespace tape
