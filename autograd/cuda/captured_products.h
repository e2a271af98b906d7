#pragma once

#include "../../base/non_copyable.h"
#include "blas_product.h"

namespace tape::cuda_device {

struct BlasPlan;
struct Context;
struct Driver;

/// Calls of a product, one after another, as a graph.
class CapturedProducts : NonCopyable {
 public:
  /// Captures calls on a stream that nothing else uses meanwhile. Throws what BlasContext::call() does.
  CapturedProducts(const Context& context, void* stream, const BlasPlan& plan, const BlasOperands& operands,
                   int count = 1);
  ~CapturedProducts() { destroy(); }

  /// Null if the driver or cuBLASLt refused.
  void* graph() const { return graph_; }

 private:
  void destroy();

  const Driver& driver_;
  void* graph_ = nullptr;
};

}  // namespace tape::cuda_device
