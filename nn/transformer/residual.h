#pragma once

#include "../../autograd/ops/elementwise/arithmetic.h"
#include "../dropout.h"

namespace tape::nn {

/// Placement of a block's norm: after the sum with its input, as in the paper; before the sublayer, which trains deep
/// stacks more easily (Xiong et al. 2020); or after the sum, with the dropout after the norm.
enum class NormPlace { post, pre, post_dropout };

/// One residual step around a sublayer, x [B, T, C] -> [B, T, C]:
/// post: norm(x + dropout(sublayer(x))) (Vaswani et al. 2017, sections 3.1 and 5.4),
/// pre: x + dropout(sublayer(norm(x))),
/// post_dropout: dropout(norm(x + sublayer(x))).
template <class Norm, class Drop, class Sublayer>
Tensor residual(NormPlace place, const Tensor& x, Norm& norm, Drop&& dropout, Sublayer&& sublayer) {
  if (place == NormPlace::pre) return x + dropout(sublayer(norm(x)));
  if (place == NormPlace::post) return norm(x + dropout(sublayer(x)));
  return dropout(norm(x + sublayer(x)));
}

}  // namespace tape::nn
