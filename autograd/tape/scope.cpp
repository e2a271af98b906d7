#include "autograd/tape/scope.h"

#include <new>

#include "autograd/kernels/product/common/bf16_backend.h"
#include "autograd/tape/modes.h"
#include "autograd/tape/observer.h"
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

NoGrad::NoGrad() : recording_(modes.recording, false) {}
EnableGrad::EnableGrad(bool enabled) : recording_(modes.recording, enabled) {}
Composed::Composed() : composed_(modes.composed, true) {}
bool Composed::active() { return modes.composed; }
MatmulPrecisionScope::MatmulPrecisionScope(MatmulPrecision precision) : precision_(modes.matmul_precision, precision) {}
AutocastScope::AutocastScope(DType dtype) : dtype_(modes.autocast, dtype) {
  if (dtype != bf16 && dtype != f32)
    raise(ErrorKind::dtype, "AutocastScope: needs bf16, or f32 to turn autocast off, got {}", to_string(dtype));
}
bool is_autocast_enabled(Device device) {
  if (modes.autocast) return *modes.autocast == bf16;
  return device.is_cuda() && modes.matmul_precision == MatmulPrecision::medium;
}
DeviceScope::DeviceScope(Device device) : device_(modes.device, device) {}
Device default_device() { return modes.device; }

MatmulPrecision MatmulPrecisionScope::current() { return modes.matmul_precision; }

bool recomputing() { return modes.recomputing; }

MatmulPrecision matmul_precision_in_use(MatmulPrecision asked) { return kernels::precision_in_use(asked); }

ModuleScope::ModuleScope(std::string_view name) : name_{name, modes.module} {
  modes.module = &name_;
  if (!detail::is_observed) return;
  try {
    observed_path_ = path();
    observe([this](Observer& observer) { observer.on_module_enter(observed_path_); });
  } catch (...) {
    modes.module = name_.outer;
    throw;
  }
}
ModuleScope::~ModuleScope() {
  if (detail::is_observed) {
    try {
      if (observed_path_.empty()) observed_path_ = path();
      observe([this](Observer& observer) { observer.on_module_leave(observed_path_); });
    } catch (const std::bad_alloc&) {
      // Only observers opened inside the scope miss this event, and they did not receive its begin either.
    }
  }
  modes.module = name_.outer;
}

std::string ModuleScope::path() { return path_of(modes.module); }

ScopeState ScopeState::now() {
  return {modes.composed,  MatmulPrecisionScope::current(), modes.autocast, Trace::active(), ModuleScope::path(),
          default_device()};
}

RestoreScopes::RestoreScopes(const ScopeState& state)
    : trace_(state.trace ? std::optional<Trace>(std::in_place) : std::optional<Trace>()),
      module_path_{state.module_path, nullptr},
      composed_(modes.composed, state.composed),
      matmul_precision_(modes.matmul_precision, state.matmul_precision),
      autocast_(modes.autocast, state.autocast),
      module_names_(modes.module, &module_path_),
      device_(state.device) {}

}  // namespace tape
