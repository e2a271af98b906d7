#include "autograd/ops/deferred/calls.h"

#include <algorithm>
#include <utility>

#include "autograd/device_memory.h"
#include "autograd/dtype.h"
#include "autograd/tape/observer.h"

namespace tape {
namespace {

/// More would keep the memory of their operands for long.
constexpr size_t kMostCalls = 8;
/// Most calls of one launch.
constexpr size_t kMostTogether = 3;

}  // namespace

DeferredCall::DeferredCall(const KernelCall& at, std::initializer_list<const Tensor*> operands, Tensor& result)
    : device_(at.device), dtype_(result.dtype()), result_(result.impl().storage.get()) {
  for (const Tensor* const operand : operands)
    if (operand->defined()) {
      static_cast<void>(at.in(*operand));
      operands_.push_back(operand->impl().storage);
    }
  static_cast<void>(at.out(result));  // counts the write
  result_->free_block();
}

bool DeferredCall::reads(const Storage& storage) const {
  return std::ranges::any_of(operands_, [&](const Ref<Storage>& operand) { return operand.get() == &storage; });
}

bool may_defer(const KernelCall& at) {
  return at.device.is_cuda() && !detail::is_observed && !device_memory::is_blocking(at.device);
}

DeferredCalls& DeferredCalls::instance() {
  // Never destroyed, since storages may be freed at any time during exit.
  static auto* calls = new DeferredCalls;
  return *calls;
}

void DeferredCalls::add(std::unique_ptr<DeferredCall> call) {
  Calls done;  // freed after the lock, which storages may need
  const std::lock_guard lock(mutex_);
  if (calls_.size() >= kMostCalls) run(0, done);
  call->result().set_writer(this);
  for (const Ref<Storage>& operand : call->operands()) operand->set_reader(this);
  calls_.push_back(std::move(call));
}

void DeferredCalls::begin(const Storage& storage) {
  Calls done;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < calls_.size();)
    if (&calls_[i]->result() == &storage || calls_[i]->reads(storage)) {
      run(i, done);
      i = 0;
    } else {
      ++i;
    }
}

void DeferredCalls::drop(const Storage& result) noexcept {
  std::unique_ptr<DeferredCall> dropped;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(calls_, [&](const auto& call) { return &call->result() == &result; });
  if (found == calls_.end()) return;
  dropped = std::move(*found);
  calls_.erase(found);
  unmark(*dropped);
}

void DeferredCalls::begin_all(Device device) {
  Calls done;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < calls_.size();)
    if (calls_[i]->device() == device)
      run(i, done);
    else
      ++i;
}

const DeferredCall* DeferredCalls::find(const Tensor& x) const {
  const Storage& storage = *x.impl().storage;
  if (!storage.is_deferred() || x.impl().offset != 0 || storage.bytes() != x.numel() * size_of(x.dtype()))
    return nullptr;
  const auto found = std::ranges::find_if(calls_, [&](const auto& call) { return &call->result() == &storage; });
  return found == calls_.end() || (*found)->dtype() != x.dtype() ? nullptr : found->get();
}

void DeferredCalls::run(size_t i, Calls& done) {
  const std::vector<const DeferredCall*> together = beside(i);
  launch(together, done, [&](std::span<void* const> blocks) { together.front()->launch(together, blocks); });
}

void DeferredCalls::launch(std::vector<const DeferredCall*> together, Calls& done,
                           const std::function<void(std::span<void* const> blocks)>& to_blocks) {
  // Blocks that are evenly spaced, as cuBLASLt needs them, at addresses that repeat from step to step.
  std::vector<Storage*> results;
  for (const DeferredCall* const call : together) results.push_back(&call->result());
  std::vector<void*> blocks(together.size());
  Storage::allocate_blocks(results, blocks);
  try {
    to_blocks(blocks);
  } catch (...) {
    for (Storage* const result : results) result->free_block();
    throw;
  }
  for (const DeferredCall* const call : together) {
    const auto found = std::ranges::find(calls_, call, &std::unique_ptr<DeferredCall>::get);
    done.push_back(std::move(*found));
    calls_.erase(found);
    call->result().set_writer(nullptr);
    unmark(*call);
  }
}

/// The calls that may be launched together with call i, which is among them, in order.
std::vector<const DeferredCall*> DeferredCalls::beside(size_t i) const {
  std::vector<const DeferredCall*> all;
  size_t place = 0;
  for (size_t j = 0; j < calls_.size(); ++j) {
    if (j == i) place = all.size();
    if (j == i || calls_[j]->is_beside(*calls_[i])) all.push_back(calls_[j].get());
  }
  const size_t first = place < kMostTogether ? 0 : place + 1 - kMostTogether;
  const size_t end = std::min(all.size(), first + kMostTogether);
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Storages that no call reads any more.
void DeferredCalls::unmark(const DeferredCall& ended) {
  for (const Ref<Storage>& operand : ended.operands())
    if (std::ranges::none_of(calls_, [&](const auto& call) { return call->reads(*operand); }))
      operand->set_reader(nullptr);
}

}  // namespace tape
