#include "autograd/tape/scope.h"

#include <new>
#include <utility>

#include "autograd/kernels/product/common/bf16_road.h"
#include "autograd/tape/listeners.h"
#include "autograd/tape/scope_state.h"
#include "base/error.h"

namespace tape {
namespace {
thread_local bool grad_mode = true;
thread_local bool composed_mode = false;
thread_local MatmulPrecision matmul_precision = MatmulPrecision::highest;
thread_local const detail::ModuleName* module_names = nullptr;  // the innermost

std::string path_of(const detail::ModuleName* last) {
  size_t length = 0;
  for (const auto* at = last; at; at = at->outer) length += at->name.empty() ? 0 : at->name.size() + 1;
  std::string path(length == 0 ? 0 : length - 1, '.');
  size_t end = path.size();
  for (const auto* at = last; at; at = at->outer) {
    if (at->name.empty()) continue;
    end -= at->name.size();
    at->name.copy(path.data() + end, at->name.size());
    if (end > 0) --end;
  }
  return path;
}
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

ModuleScope::ModuleScope(std::string_view name) : name_{name, module_names} {
  module_names = &name_;
  if (!detail::is_observed) return;
  try {
    observed_path_ = path();
    observe([this](Observer& observer) { observer.module_entered(observed_path_); });
  } catch (...) {
    module_names = name_.outer;
    throw;
  }
}
ModuleScope::~ModuleScope() {
  if (detail::is_observed) {
    try {
      if (observed_path_.empty()) observed_path_ = path();
      observe([this](Observer& observer) { observer.module_left(observed_path_); });
    } catch (const std::bad_alloc&) {
      // Only observers that were opened inside the scope, and so were not told of its begin, miss its end.
    }
  }
  module_names = name_.outer;
}

std::string ModuleScope::path() { return path_of(module_names); }

ScopeState ScopeState::now() {
  return {composed_mode, MatmulPrecisionScope::current(), Trace::active(), ModuleScope::path()};
}

ScopesAs::ScopesAs(const ScopeState& state)
    : composed_(composed_mode),
      matmul_precision_(matmul_precision),
      module_path_{state.module_path, nullptr},
      module_names_(module_names) {
  if (state.trace) trace_.emplace();  // what may fail comes first
  composed_mode = state.composed;
  matmul_precision = state.matmul_precision;
  module_names = &module_path_;
}

ScopesAs::~ScopesAs() {
  composed_mode = composed_;
  matmul_precision = matmul_precision_;
  module_names = module_names_;
}

}  // namespace tape
