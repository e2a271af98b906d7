#pragma once

#include <cstdint>

/// Loops on pointers: no tensor, no tape. Programs need only the number of threads.
namespace tape::kernels {

/// Number of threads that kernels use, including the caller: initially OMP_NUM_THREADS, else one per CPU available to
/// this process. Threads are started on first use.
int num_threads();
/// Must be at least 1. Applies to every thread that calls kernels.
void set_num_threads(int threads);

/// One of several pieces of work that may run concurrently, in any order.
using Task = void (*)(const void* context, int64_t task);

/// Runs tasks [0, tasks), each once, on this thread and the pool's, and returns when all have finished. Adjacent tasks
/// go to one thread, the same each time; idle threads steal remaining tasks. A pool thread that is late because another
/// process has its core is not waited for. Inside a task, or while another thread uses the pool, this thread runs all
/// tasks itself. If tasks throw, the first exception is rethrown here, and tasks not yet started are skipped.
void run_tasks(int64_t tasks, const void* context, Task task);

/// The same with a callable: body(task).
template <class Body>
inline __attribute__((always_inline)) void run_tasks(int64_t tasks, const Body& body) {
  run_tasks(tasks, &body, [](const void* context, int64_t task) { (*static_cast<const Body*>(context))(task); });
}

/// Whether this thread is running a task.
bool in_task();

}  // namespace tape::kernels
