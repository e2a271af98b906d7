#include "autograd/cuda/work_list.h"

#include <cstring>
#include <utility>

namespace tape::cuda_device {
namespace {

bool equal(Grid a, Grid b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

/// The next state of an FNV-1a hash, by words.
void mix(uint64_t& hash, uint64_t value) { hash = (hash ^ value) * 0x100000001B3ULL; }

/// The size of a fill, which a graph cannot change; those of copies are arguments.
size_t fixed_bytes(const WorkList::Work& work) { return work.kind == WorkList::Kind::fill ? work.bytes : 0; }

}  // namespace

void WorkList::add_kernel(const char* name, void* function, Grid blocks, Grid threads, uint32_t shared_bytes,
                          const void* const* arguments, const size_t* sizes, size_t count) {
  Work work{.kind = Kind::kernel, .name = name, .function = function, .blocks = blocks, .threads = threads};
  work.shared_bytes = shared_bytes;
  work.first_argument = arguments_.size();
  work.arguments = count;
  work.operation = LaunchingOperation::current();
  for (size_t i = 0; i < count; ++i) {
    constexpr size_t kAlignment = alignof(std::max_align_t);
    const size_t offset = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(offset + sizes[i]);
    std::memcpy(bytes_.data() + offset, arguments[i], sizes[i]);
    arguments_.push_back({offset, sizes[i]});
  }
  works_.push_back(std::move(work));
}

void WorkList::add_copy(DevicePointer to, DevicePointer from, size_t bytes) {
  Work work{.kind = Kind::copy, .to = to, .from = from, .bytes = bytes};
  work.operation = LaunchingOperation::current();
  works_.push_back(std::move(work));
}

void WorkList::add_upload(DevicePointer to, const PinnedSource& from, size_t bytes) {
  Work work{.kind = Kind::upload, .to = to, .host = from, .bytes = bytes};
  uploads_.push_back(from.address);
  work.operation = LaunchingOperation::current();
  works_.push_back(std::move(work));
}

void WorkList::add_fill(DevicePointer to, uint8_t value, size_t bytes) {
  Work work{.kind = Kind::fill, .to = to, .bytes = bytes, .value = value};
  work.operation = LaunchingOperation::current();
  works_.push_back(std::move(work));
}

void WorkList::add_product(std::shared_ptr<BlasPlan> plan, const BlasOperands& operands) {
  Work work{.kind = Kind::product, .plan = std::move(plan), .operands = operands};
  work.operation = LaunchingOperation::current();
  works_.push_back(std::move(work));
}

void WorkList::add_allocation(DevicePointer address, size_t bytes, size_t capacity) {
  allocations_.push_back({works_.size(), address, bytes, capacity});
}

void WorkList::clear() {
  works_.clear();
  arguments_.clear();
  bytes_.clear();
  allocations_.clear();
  uploads_.clear();
}

void WorkList::point_at_arguments(const Work& kernel, std::vector<void*>& pointers) const {
  pointers.clear();
  for (size_t i = 0; i < kernel.arguments; ++i)
    pointers.push_back(const_cast<std::byte*>(bytes_.data()) + arguments_[kernel.first_argument + i].offset);
}

uint64_t WorkList::hash_of_shape() const {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const Work& work : works_) {
    mix(hash, static_cast<uint64_t>(work.kind));
    mix(hash, reinterpret_cast<uintptr_t>(work.function));
    mix(hash, reinterpret_cast<uintptr_t>(work.plan.get()));
    for (const Grid grid : {work.blocks, work.threads}) {
      mix(hash, grid.x);
      mix(hash, grid.y);
      mix(hash, grid.z);
    }
    mix(hash, work.shared_bytes);
    mix(hash, fixed_bytes(work));
  }
  return hash;
}

bool WorkList::same_shape(const WorkList& other) const {
  if (works_.size() != other.works_.size()) return false;
  for (size_t i = 0; i < works_.size(); ++i) {
    const Work &a = works_[i], &b = other.works_[i];
    if (a.kind != b.kind || a.function != b.function || !equal(a.blocks, b.blocks) || !equal(a.threads, b.threads) ||
        a.shared_bytes != b.shared_bytes || a.arguments != b.arguments || fixed_bytes(a) != fixed_bytes(b) ||
        a.plan != b.plan)
      return false;
  }
  return true;
}

bool WorkList::same_arguments(size_t index, const WorkList& other) const {
  const Work &a = works_[index], &b = other.works_[index];
  if (a.to != b.to || a.from != b.from || a.host != b.host || a.bytes != b.bytes || a.value != b.value ||
      a.operands != b.operands)
    return false;
  for (size_t i = 0; i < a.arguments; ++i) {
    const Argument &x = arguments_[a.first_argument + i], &y = other.arguments_[b.first_argument + i];
    if (x.bytes != y.bytes || std::memcmp(bytes_.data() + x.offset, other.bytes_.data() + y.offset, x.bytes) != 0)
      return false;
  }
  return true;
}

}  // namespace tape::cuda_device
