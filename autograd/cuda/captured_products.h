#pragma once

#include "../../base/non_copyable.h"
#include "blas_product.h"
#include "driver.h"

namespace tape::cuda_device {

struct BlasPlan;
struct Context;

/// Calls of a product, one after another, as a graph.
class CapturedProducts : NonCopyable {
 public:
  /// Captures calls on a stream that nothing else uses meanwhile. Throws what BlasContext::call() does.
  CapturedProducts(const Context& context, void* stream, const BlasPlan& plan, const BlasOperands& operands,
                   int count = 1);
  ~CapturedProducts() { destroy(); }

  /// Null if the driver or cuBLASLt refused, and result() is not success.
  void* graph() const { return graph_; }
  Result result() const { return result_; }

 private:
  void destroy();

  const Driver& driver_;
  void* graph_ = nullptr;
  Result result_;
};

}  // namespace tape::cuda_device
