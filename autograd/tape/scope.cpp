#include "autograd/tape/scope.h"

#include <new>
#include <utility>

#include "autograd/kernels/product/common/bf16_road.h"
#include "autograd/tape/listeners.h"
#include "autograd/tape/modes.h"
#include "autograd/tape/scope_state.h"
#include "base/error.h"

namespace tape {
constinit thread_local detail::Modes detail::modes;

namespace {
using detail::modes;

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

bool grad_enabled() { return modes.recording; }

NoGrad::NoGrad() : previous_(modes.recording) { modes.recording = false; }
NoGrad::~NoGrad() { modes.recording = previous_; }

EnableGrad::EnableGrad(bool enabled) : previous_(modes.recording) { modes.recording = enabled; }
EnableGrad::~EnableGrad() { modes.recording = previous_; }

Composed::Composed() : previous_(modes.composed) { modes.composed = true; }
Composed::~Composed() { modes.composed = previous_; }
bool Composed::active() { return modes.composed; }

MatmulPrecisionScope::MatmulPrecisionScope(MatmulPrecision precision)
    : previous_(std::exchange(modes.matmul_precision, precision)) {}
MatmulPrecisionScope::~MatmulPrecisionScope() { modes.matmul_precision = previous_; }
MatmulPrecision MatmulPrecisionScope::current() { return modes.matmul_precision; }

bool recomputing() { return modes.recomputing; }

MatmulPrecision matmul_precision_in_use(MatmulPrecision asked) { return kernels::precision_in_use(asked); }

ModuleScope::ModuleScope(std::string_view name) : name_{name, modes.module} {
  modes.module = &name_;
  if (!detail::is_observed) return;
  try {
    observed_path_ = path();
    observe([this](Observer& observer) { observer.module_entered(observed_path_); });
  } catch (...) {
    modes.module = name_.outer;
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
  modes.module = name_.outer;
}

std::string ModuleScope::path() { return path_of(modes.module); }

ScopeState ScopeState::now() {
  return {modes.composed, MatmulPrecisionScope::current(), Trace::active(), ModuleScope::path()};
}

ScopesAs::ScopesAs(const ScopeState& state)
    : composed_(modes.composed),
      matmul_precision_(modes.matmul_precision),
      module_path_{state.module_path, nullptr},
      module_names_(modes.module) {
  if (state.trace) trace_.emplace();  // what may fail comes first
  modes.composed = state.composed;
  modes.matmul_precision = state.matmul_precision;
  modes.module = &module_path_;
}

ScopesAs::~ScopesAs() {
  modes.composed = composed_;
  modes.matmul_precision = matmul_precision_;
  modes.module = module_names_;
}

}  // namespace tape
