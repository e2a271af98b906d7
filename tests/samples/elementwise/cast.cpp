#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> cast_samples() {
  return std::vector<OpSample>{{"through f32",
                                {sample_distinct({2, 2})},
                                [](const Tensors& in) { return cast(cast(in[0], f32), f64); },
                                0x1p-6}};
}

const OpSamples samples_of_cast("cast", cast_samples);

}  // namespace
}  // namespace tape
