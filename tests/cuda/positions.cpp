// Positions that skip padding are computed on a GPU without reading the ids.
#include "nn/position/positions.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "nn/position/positional_encoding.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

TEST(CudaPositions, SkipPaddingAsOnTheCpu) {
  const cuda_device::TestDevice device;
  const Tensor ids = from_vector(std::vector<int64_t>{5, 0, 7, 0, 0, 0, 3, 4}, {2, 4}), there = ids.to(cuda);
  for (const int64_t padding_position : {-1, 9})
    for (const int64_t first : {0, 3}) {
      const Tensor expected = positions_skipping_padding(ids, 0, first, padding_position);
      const int64_t waits = cuda_device::waits();
      const Tensor found = positions_skipping_padding(there, 0, first, padding_position);
      EXPECT_EQ(cuda_device::waits(), waits);
      EXPECT_EQ(found.dtype(), i64);
      EXPECT_EQ(found.to_vector<int64_t>(), expected.to_vector<int64_t>());
    }
}

TEST(CudaPositions, ChooseRowsOfATableAsOnTheCpu) {
  const cuda_device::TestDevice device;
  PositionalEncoding encoding(4, 5);
  const Tensor x = arange(2 * 3 * 4, {f32, cpu}).reshape({2, 3, 4});
  const Tensor positions = from_vector(std::vector<int64_t>{4, -1, 0, 2, 2, -7}, {2, 3});
  const Tensor expected = encoding.at(x, positions);
  encoding.to(cuda);
  const Tensor there = x.to(cuda), at = positions.to(cuda), beyond = full({2, 3}, 5, {i64, cuda});
  const int64_t waits = cuda_device::waits();
  const Tensor found = encoding.at(there, at);
  EXPECT_EQ(cuda_device::waits(), waits);
  EXPECT_EQ(found.to_vector<float>(), expected.to_vector<float>());
  EXPECT_TAPE_ERROR(encoding.at(there, beyond).to_vector<float>(), ErrorKind::index,
                    "PositionalEncoding: position 5 at position 0 is outside [0, 5)");
}

}  // namespace
}  // namespace tape::nn
