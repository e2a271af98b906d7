#include "autograd/cuda/emulation/host_access.h"

#include <signal.h>
#include <unistd.h>

#include <string_view>

#include "autograd/cuda/emulation/device_memory.h"

namespace tape::cuda_device::emulation {
namespace {

struct sigaction action_before {};

/// Writes without allocating, as a signal handler must.
void write_text_of_fault(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void on_segmentation_fault(int, siginfo_t* info, void*) {
  if (device_memory() && device_memory()->contains(info->si_addr)) {
    write_text_of_fault(
        "emulated device: host pointer: the host accessed device memory; copy it to the host first, with "
        "copy_to_host() or .to(cpu)\n");
  } else if (block_runner().stacks().in_guard(info->si_addr)) {
    write_text_of_fault("emulated device: stack overflow: the local variables of kernel ");
    write_text_of_fault(block_runner().launch().kernel->name);
    write_text_of_fault(" exceed the stack of a thread\n");
  }
  // The instruction runs again and fails as it would have without this handler.
  sigaction(SIGSEGV, &action_before, nullptr);
}

/// The handler needs a stack of its own, because that of a kernel may be full.
void use_signal_stack() {
  static char stack[64 << 10];
  stack_t description{};
  description.ss_sp = stack;
  description.ss_size = sizeof stack;
  sigaltstack(&description, nullptr);
}

}  // namespace

void report_host_accesses(bool on) {
  if (on) {
    use_signal_stack();
    struct sigaction action {};
    action.sa_sigaction = on_segmentation_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &action_before);
  } else {
    sigaction(SIGSEGV, &action_before, nullptr);
  }
}

}  // namespace tape::cuda_device::emulation
