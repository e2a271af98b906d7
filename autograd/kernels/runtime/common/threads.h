#pragma once

#include <cstdint>

namespace tape::kernels {

/// How many threads kernels use together: at the start what OMP_NUM_THREADS says, else one a CPU that this process may
/// run on. The others are started when they are needed first.
int num_threads();
/// At least 1. Concerns every thread that calls kernels.
void set_num_threads(int threads);

/// One of several pieces of work that may run at once, in any order.
using Task = void (*)(const void* context, int64_t task);

/// Runs tasks [0, tasks) on this thread and the pool's, each once, and returns when all have ended. Neighbouring tasks
/// go to one thread, the same each time; a thread that has no more takes what others have not begun. A thread of the
/// pool that comes late, because another process has its core, is not waited for. Inside a task, or while another
/// thread's tasks are in the pool, this thread does all alone. What a task throws (the first, if several do) is thrown
/// here, and what had not begun by then is left out.
void run_tasks(int64_t tasks, const void* context, Task task);

/// The same with a function: body(task).
template <class Body>
inline __attribute__((always_inline)) void run_tasks(int64_t tasks, const Body& body) {
  run_tasks(tasks, &body, [](const void* context, int64_t task) { (*static_cast<const Body*>(context))(task); });
}

/// Whether this thread is in a task.
bool in_task();

}  // namespace tape::kernels
