#include "tests/allocation/failing_allocator.h"

#include <dlfcn.h>
#include <unwind.h>

#include <cstdlib>
#include <new>
#include <string_view>

namespace tape {
namespace {

struct Plan {
  bool open = false;
  int64_t requested = 0, failed = 0, first = 0, count = 0;
};
thread_local Plan plan;
thread_local int64_t held = 0;

constinit EarlyAllocations early;
constinit bool libraries_are_loaded = false;
/// Constructed before the program's other objects and after those of the libraries that it is linked with. Allocates
/// one block to show that counting works.
[[gnu::constructor(101)]] void note_loaded() {
  ::operator delete(::operator new(1));
  libraries_are_loaded = true;
}

/// Stops the stack walk at a function of libtapeformer.
_Unwind_Reason_Code look_at(_Unwind_Context* frame, void* found) {
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<void*>(_Unwind_GetIP(frame)), &info) != 0 && info.dli_fname != nullptr;
  if (!known || std::string_view(info.dli_fname).find("libtapeformer") == std::string_view::npos) return _URC_NO_REASON;
  *static_cast<bool*>(found) = true;
  return _URC_END_OF_STACK;
}

void note_early() {
  bool found = false;
  _Unwind_Backtrace(look_at, &found);
  ++early.all;
  early.by_tapeformer += found;
}

bool refuses() {
  if (!plan.open) return false;
  const int64_t number = plan.requested++;
  if (number < plan.first || number - plan.first >= plan.count) return false;
  ++plan.failed;
  return true;
}

}  // namespace

FailingAllocations::FailingAllocations(int64_t first, int64_t count) {
  plan = {.open = true, .first = first, .count = count};
}
FailingAllocations::~FailingAllocations() { plan.open = false; }
int64_t FailingAllocations::requested() const { return plan.requested; }
int64_t FailingAllocations::failed() const { return plan.failed; }

int64_t live_blocks() { return held; }

EarlyAllocations early_allocations() { return early; }

namespace {

void* take(size_t bytes) {
  if (!libraries_are_loaded) note_early();
  void* const block = refuses() ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  held += block != nullptr;
  return block;
}
void* take_aligned(size_t bytes, size_t alignment) {
  void* block = nullptr;
  if (!refuses() && posix_memalign(&block, alignment, bytes > 0 ? bytes : 1) == 0) ++held;
  return block;
}
/// Not inlined, because g++ would otherwise warn about free() of memory from operator new.
[[gnu::noinline]] void give_back(void* block) {
  held -= block != nullptr;
  std::free(block);
}

}  // namespace
}  // namespace tape

void* operator new(size_t bytes) {
  if (void* const block = tape::take(bytes)) return block;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return tape::take(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return tape::take(bytes); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  if (void* const block = tape::take_aligned(bytes, static_cast<size_t>(alignment))) return block;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void operator delete(void* block) noexcept { tape::give_back(block); }
void operator delete[](void* block) noexcept { tape::give_back(block); }
void operator delete(void* block, size_t) noexcept { tape::give_back(block); }
void operator delete[](void* block, size_t) noexcept { tape::give_back(block); }
void operator delete(void* block, std::align_val_t) noexcept { tape::give_back(block); }
void operator delete[](void* block, std::align_val_t) noexcept { tape::give_back(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { tape::give_back(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { tape::give_back(block); }

/// Allocates tensors and the kernels' working memory.
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  void* block = nullptr;
  return !tape::refuses() && posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
}
