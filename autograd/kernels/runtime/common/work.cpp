#include "autograd/kernels/runtime/common/work.h"

namespace tape::kernels {

double& flops_asked() {
  thread_local double flops = 0;
  return flops;
}

}  // namespace tape::kernels
