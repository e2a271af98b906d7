#include "autograd/kernels/runtime/common/work.h"

namespace tape::kernels {

double& flop_counter() {
  thread_local double flops = 0;
  return flops;
}

}  // namespace tape::kernels
