#include "autograd/kernels/random/tokens.h"

#include "autograd/kernels/runtime/common/missing.h"

namespace tape::kernels::common {

TAPE_DEFINE_TABLES(TokenKernels, tokens, .choose = missing)

}  // namespace tape::kernels::common
