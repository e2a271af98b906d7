#include "autograd/cuda/emulation/fiber.h"

#include <sys/mman.h>

#include <cstdint>

#include "base/error.h"
#include "base/sanitizer.h"

#ifdef __x86_64__

extern "C" void tape_emulated_switch(void** from, void* to);
// Pushes the registers that a callee must preserve and exchanges the stack pointers: a hundredth of swapcontext(),
// which also saves the signal mask by a system call.
asm(R"(
.text
.p2align 4
.type tape_emulated_switch, @function
tape_emulated_switch:
  .cfi_startproc
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
  .cfi_endproc
.size tape_emulated_switch, . - tape_emulated_switch
)");

namespace tape::cuda_device::emulation {

FiberState prepare_fiber(char* stack, size_t bytes, void (*entry)()) {
  allow_access(stack, bytes);  // AddressSanitizer still forbids variables of calls that a fiber has abandoned
  void** top = reinterpret_cast<void**>(stack + bytes);
  constexpr int kRegisters = 6;
  *--top = nullptr;  // the return address of `entry`, and alignment as after a call
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < kRegisters; ++i) *--top = nullptr;
  return top;
}

void switch_fiber(FiberState& from, FiberState to) { tape_emulated_switch(&from, to); }

}  // namespace tape::cuda_device::emulation

#else

#include <ucontext.h>

#include <map>
#include <memory>

namespace tape::cuda_device::emulation {
namespace {

/// Contexts by the stack that they run on; the thread that runs kernels has none.
ucontext_t* context_of_stack(char* stack) {
  static auto* contexts = new std::map<char*, std::unique_ptr<ucontext_t>>;
  auto& context = (*contexts)[stack];
  if (!context) context = std::make_unique<ucontext_t>();
  return context.get();
}

ucontext_t main_context;
ucontext_t* running = &main_context;

}  // namespace

FiberState prepare_fiber(char* stack, size_t bytes, void (*entry)()) {
  allow_access(stack, bytes);  // AddressSanitizer still forbids variables of calls that a fiber has abandoned
  ucontext_t* const context = context_of_stack(stack);
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = bytes;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

void switch_fiber(FiberState& from, FiberState to) {
  ucontext_t* const self = running;
  from = self;
  running = static_cast<ucontext_t*>(to);
  swapcontext(self, running);
}

}  // namespace tape::cuda_device::emulation

#endif

namespace tape::cuda_device::emulation {

FiberStacks::FiberStacks(size_t count, size_t bytes) : spacing_(bytes + kGuard), bytes_(count * spacing_) {
  void* const range =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (range == MAP_FAILED)
    raise(ErrorKind::out_of_memory, "emulated device: the system refused {} bytes for stacks", bytes_);
  begin_ = static_cast<char*>(range);
  for (size_t i = 0; i < count; ++i) mprotect(begin_ + i * spacing_, kGuard, PROT_NONE);
}

FiberStacks::~FiberStacks() { munmap(begin_, bytes_); }

bool FiberStacks::in_guard(const void* address) const {
  const auto offset = static_cast<size_t>(static_cast<const char*>(address) - begin_);
  return offset < bytes() && offset % spacing_ < kGuard;
}

}  // namespace tape::cuda_device::emulation
