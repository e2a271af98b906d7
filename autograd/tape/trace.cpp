#include "autograd/tape/trace.h"

#include <atomic>
#include <memory>
#include <string>

#include "autograd/tape/call_stack.h"
#include "autograd/tape/modes.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

std::atomic<std::string (*)()> trace_caller = nullptr;

}  // namespace

void set_trace_caller(std::string (*caller)()) { trace_caller = caller; }

Trace::Trace() { ++detail::modes.traces; }
Trace::~Trace() { --detail::modes.traces; }
bool Trace::active() { return detail::modes.traces > 0; }

void Trace::on_node(Node& node, TensorList) {
  if (node.trace) return;  // recorded by an enclosing Trace
  node.trace = std::make_unique<TraceRecord>();
  TraceRecord& record = *node.trace;
  record.module_path = ModuleScope::path();
  record.depth = call_stack(record.addresses);
  if (const auto caller = trace_caller.load()) record.caller = caller();
}

std::string TraceRecord::source() const {
  if (!caller.empty()) return caller;
  return caller_outside_library(std::span(addresses).first(static_cast<size_t>(depth)));
}

}  // namespace tape
