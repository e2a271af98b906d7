#include "autograd/kernels/runtime/common/threads.h"

namespace tape::kernels {
namespace {

thread_local bool inside = false;

}  // namespace

// A page's worker has one thread.

int num_threads() { return 1; }

void set_num_threads(int) {}

bool in_task() { return inside; }

void run_tasks(int64_t tasks, const void* context, Task task) {
  const bool before = inside;
  inside = true;
  struct Restore {
    bool before;
    ~Restore() { inside = before; }
  } restore{before};
  for (int64_t i = 0; i < tasks; ++i) task(context, i);
}

}  // namespace tape::kernels
