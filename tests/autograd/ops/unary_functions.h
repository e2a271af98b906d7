#pragma once

#include <map>
#include <string>

#include "autograd/ops.h"

namespace tape {

using UnaryFunction = Tensor (*)(const Tensor&);

/// Functions of one tensor, without options, that have gradients.
inline const std::map<std::string, UnaryFunction>& unary_functions() {
  static const std::map<std::string, UnaryFunction> all{{"neg", neg},
                                                        {"abs", abs},
                                                        {"sign", sign},
                                                        {"square", square},
                                                        {"reciprocal", reciprocal},
                                                        {"exp", exp},
                                                        {"log", log},
                                                        {"sqrt", sqrt},
                                                        {"rsqrt", rsqrt},
                                                        {"sin", sin},
                                                        {"cos", cos},
                                                        {"tanh", tanh},
                                                        {"sigmoid", sigmoid},
                                                        {"erf", erf},
                                                        {"relu", relu},
                                                        {"gelu", gelu},
                                                        {"gelu_tanh", gelu_tanh},
                                                        {"silu", silu},
                                                        {"expm1", expm1},
                                                        {"log1p", log1p},
                                                        {"exp2", exp2},
                                                        {"log2", log2},
                                                        {"log10", log10},
                                                        {"sinh", sinh},
                                                        {"cosh", cosh},
                                                        {"atanh", atanh},
                                                        {"tan", tan},
                                                        {"asin", asin},
                                                        {"acos", acos},
                                                        {"atan", atan},
                                                        {"mish", mish},
                                                        {"round", round},
                                                        {"floor", floor},
                                                        {"ceil", ceil},
                                                        {"trunc", trunc},
                                                        {"frac", frac}};
  return all;
}

}  // namespace tape
