#pragma once

#include <vector>

#include "../../tape/op.h"

namespace tape::detail {

/// The calls of scaled_dot_product_attention and multi_head_attention that the checks of registered operations try.
std::vector<OpSample> attention_samples();

}  // namespace tape::detail
