#include "autograd/tape/trace.h"

#include <memory>
#include <string>

#include "autograd/tape/modes.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"

namespace tape {

// WebAssembly has no stack to walk: a trace knows the module and not the line.

Trace::Trace() { ++detail::modes.traces; }
Trace::~Trace() { --detail::modes.traces; }
bool Trace::active() { return detail::modes.traces > 0; }

void Trace::on_node(Node& node, TensorList) {
  if (node.trace) return;  // recorded by an enclosing Trace
  node.trace = std::make_unique<TraceRecord>();
  node.trace->module_path = ModuleScope::path();
}

std::string TraceRecord::source() const { return ""; }

}  // namespace tape
