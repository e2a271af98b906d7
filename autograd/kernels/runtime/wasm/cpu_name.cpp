#include <string>

#include "autograd/kernels/runtime/common/isa.h"

namespace tape::kernels {

std::string cpu_name() { return "WebAssembly"; }

}  // namespace tape::kernels
