#include "autograd/cuda/emulation/streams.h"

#include <algorithm>
#include <utility>

#include "autograd/cuda/emulation/emulated_driver.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr unsigned kNonBlocking = 1;  // a flag of streams

EmulatedStream* find_stream(void* handle) { return static_cast<EmulatedStream*>(handle); }

/// Whether a thread that makes this capture must not make calls that are unsafe in one.
bool is_strict(const EmulatedStream& stream) { return stream.captured && stream.mode != capture_mode::relaxed; }

Result create_stream(void** handle, unsigned flags) {
  const auto lock = work_queue().lock();
  auto& streams = driver_state().streams;
  streams.push_back(std::make_unique<EmulatedStream>());
  streams.back()->waits_for_legacy = (flags & kNonBlocking) == 0;
  *handle = streams.back().get();
  return result::success;
}

Result begin_capture(void* handle, int mode) {
  const auto lock = work_queue().lock();
  EmulatedStream* const stream = find_stream(handle);
  if (!stream) return result::capture_unsupported;
  if (mode < 0 || mode > capture_mode::relaxed) return result::invalid_value;
  if (stream->captured) return result::illegal_state;
  stream->captured = std::make_unique<Graph>();
  stream->thread = std::this_thread::get_id();
  stream->mode = mode;
  stream->valid = true;
  return result::success;
}

Result end_capture(void* handle, void** graph) {
  const auto lock = work_queue().lock();
  EmulatedStream* const stream = find_stream(handle);
  *graph = nullptr;
  if (!stream || !stream->captured) return result::illegal_state;
  if (is_strict(*stream) && stream->thread != std::this_thread::get_id()) return result::capture_wrong_thread;
  std::unique_ptr<Graph> captured = std::move(stream->captured);
  if (!stream->valid) return result::capture_invalidated;
  *graph = captured.release();
  return result::success;
}

/// The legacy stream orders itself after all blocking streams, which a captured one does not allow.
Result check_legacy() {
  bool conflict = false;
  for (const auto& stream : driver_state().streams)
    if (stream->captured && stream->waits_for_legacy) {
      stream->valid = false;
      conflict = true;
    }
  return conflict ? result::capture_implicit : result::success;
}

}  // namespace

bool is_capturing(void* handle) {
  const EmulatedStream* const stream = find_stream(handle);
  return stream && stream->captured;
}

Result submit_to(void* handle, NodeWork work) {
  const auto lock = work_queue().lock();
  EmulatedStream* const stream = find_stream(handle);
  if (!stream)
    if (const Result conflict = check_legacy()) return conflict;
  if (!is_capturing(stream)) {
    work_queue().submit([run = std::move(work.run)] { (*run)(); });
    return result::success;
  }
  if (!stream->valid) return result::capture_invalidated;
  Graph& graph = *stream->captured;
  std::vector<size_t> after;
  if (!graph.nodes.empty()) after.push_back(graph.nodes.size() - 1);
  auto node = std::make_unique<Node>(Node{&graph, graph.nodes.size(), std::move(after), std::move(work)});
  graph.nodes.push_back(std::move(node));
  return result::success;
}

Result refuse_captured(void* handle) {
  const auto lock = work_queue().lock();
  EmulatedStream* const stream = find_stream(handle);
  if (!stream) return check_legacy();
  if (!is_capturing(stream)) return result::success;
  stream->valid = false;
  return result::capture_unsupported;
}

Result refuse_while_capturing() {
  const auto lock = work_queue().lock();
  Result refused = result::success;
  for (const auto& stream : driver_state().streams)
    if (is_strict(*stream) && stream->thread == std::this_thread::get_id()) {
      stream->valid = false;
      refused = result::capture_unsupported;
    }
  return refused;
}

void add_stream_functions(Driver& d) {
  d.stream_create = create_stream;
  d.stream_begin_capture = begin_capture;
  d.stream_end_capture = end_capture;
}

}  // namespace tape::cuda_device::emulation
