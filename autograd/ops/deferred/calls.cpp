#include "autograd/ops/deferred/calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "autograd/device_memory.h"
#include "autograd/dtype.h"
#include "autograd/tape/observer.h"

namespace tape {

DeferredCall::DeferredCall(const KernelCall& at, std::initializer_list<const Tensor*> operands,
                           std::initializer_list<Tensor*> results)
    : device_(at.device) {
  for (const Tensor* const operand : operands)
    if (operand->defined()) {
      static_cast<void>(at.in(*operand));
      operands_.at(operand_count_++) = operand->impl().storage;
    }
  for (Tensor* const result : results) {
    Storage* const storage = result->defined() ? result->impl().storage.get() : nullptr;
    results_.at(result_count_++) = storage;
    if (!storage) continue;
    dtype_ = result->dtype();
    storage->bump_version();
    storage->free_block();
  }
}

bool DeferredCall::reads(const Storage& storage) const {
  return std::ranges::any_of(operands(), [&](const Ref<Storage>& operand) { return operand.get() == &storage; });
}

bool DeferredCall::writes(const Storage& storage) const { return std::ranges::count(results(), &storage) > 0; }

bool DeferredCall::drop(const Storage& result) {
  std::ranges::replace(results_, &result, nullptr);
  return std::ranges::count(results(), nullptr) == std::ssize(results());
}

bool may_defer(const KernelCall& at) {
  return kernels::launches_late(at) && !detail::is_observed && !device_memory::is_blocking(at.device);
}

Tensor empty_result(const Shape& shape, const TensorOptions& options) {
  const int64_t bytes = shape.numel() * size_of(options.dtype);
  return Tensor(Ref(new TensorImpl(Storage::allocate_late(bytes, options.device), 0, shape, options.dtype)));
}

DeferredCalls& DeferredCalls::instance() {
  // Never destroyed, since storages may be freed at any time during exit.
  static auto* calls = new DeferredCalls;
  return *calls;
}

void DeferredCalls::add(std::unique_ptr<DeferredCall> call) {
  Calls done;  // freed after the lock, which storages may need
  const std::lock_guard lock(mutex_);
  size_t alike = 0, first = 0;
  for (size_t i = calls_.size(); i-- > 0;)
    if (calls_[i]->is_like(*call)) ++alike, first = i;
  if (alike >= call->most_waiting()) run(first, done);
  for (Storage* const result : call->results())
    if (result) result->set_writer(this);
  for (const Ref<Storage>& operand : call->operands()) operand->set_reader(this);
  calls_.push_back(std::move(call));
}

void DeferredCalls::begin(Storage& storage) {
  Calls done;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < calls_.size();)
    if (calls_[i]->writes(storage) || calls_[i]->reads(storage)) {
      run(i, done);
      i = 0;
    } else {
      ++i;
    }
}

void DeferredCalls::drop(const Storage& result) noexcept {
  std::unique_ptr<DeferredCall> dropped;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(calls_, [&](const auto& call) { return call->writes(result); });
  if (found == calls_.end() || !(*found)->drop(result)) return;
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
  const auto found = std::ranges::find_if(calls_, [&](const auto& call) { return call->writes(storage); });
  return found == calls_.end() || (*found)->dtype() != x.dtype() ? nullptr : found->get();
}

void DeferredCalls::run(size_t i, Calls& done) {
  const std::vector<const DeferredCall*> together = beside(i);
  launch(together, done, [&](std::span<void* const> blocks) { together.front()->launch(together, blocks); });
}

void DeferredCalls::launch(const std::vector<const DeferredCall*>& together, Calls& done,
                           const std::function<void(std::span<void* const> blocks)>& to_blocks) {
  // Blocks that are evenly spaced, as cuBLASLt needs them, at addresses that repeat from step to step.
  std::vector<Storage*> results;
  for (const DeferredCall* const call : together)
    for (Storage* const result : call->results())
      if (result) results.push_back(result);
  std::vector<void*> made(results.size()), blocks;
  Storage::allocate_blocks(results, made);
  auto next = made.begin();
  for (const DeferredCall* const call : together)
    for (Storage* const result : call->results()) blocks.push_back(result ? *next++ : nullptr);
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
    unmark(*call);
  }
  for (Storage* const result : results) result->set_writer(nullptr);
}

/// The calls that may be launched together with call i, which is among them, in order.
std::vector<const DeferredCall*> DeferredCalls::beside(size_t i) const {
  std::vector<const DeferredCall*> all;
  size_t place = 0;
  for (size_t j = 0; j < calls_.size(); ++j) {
    if (j == i) place = all.size();
    if (j == i || calls_[j]->is_beside(*calls_[i])) all.push_back(calls_[j].get());
  }
  const size_t most = calls_[i]->most_together(), first = place < most ? 0 : place + 1 - most;
  const size_t end = std::min(all.size(), first + most);
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Storages that no call reads any more.
void DeferredCalls::unmark(const DeferredCall& ended) {
  for (const Ref<Storage>& operand : ended.operands())
    if (std::ranges::none_of(calls_, [&](const auto& call) { return call->reads(*operand); }))
      operand->set_reader(nullptr);
}

}  // namespace tape
