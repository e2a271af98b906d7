#include "autograd/cuda/captured_products.h"

#include <utility>

#include "autograd/cuda/blas_context.h"
#include "autograd/cuda/context.h"

namespace tape::cuda_device {

CapturedProducts::CapturedProducts(const Context& context, void* stream, const BlasPlan& plan,
                                   const BlasOperands& operands, int count)
    : driver_(*context.driver) {
  // Other threads may allocate meanwhile.
  result_ = driver_.stream_begin_capture(stream, capture_mode::thread_local_calls);
  if (result_ != result::success) return;
  BlasStatus status = blas_status::success;
  try {
    for (int i = 0; i < count && status == blas_status::success; ++i)
      status = context.blas->call(plan, operands, stream);
  } catch (...) {
    driver_.stream_end_capture(stream, &graph_);
    destroy();
    throw;
  }
  result_ = driver_.stream_end_capture(stream, &graph_);
  if (result_ != result::success) graph_ = nullptr;
  if (status == blas_status::success) return;
  destroy();
  if (result_ == result::success) result_ = result::capture_unsupported;
}

void CapturedProducts::destroy() {
  if (void* const graph = std::exchange(graph_, nullptr)) driver_.graph_destroy(graph);
}

}  // namespace tape::cuda_device
