#include "autograd/ops/index/index.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensor column(std::initializer_list<Values> values, DType dtype) { return unsqueeze(tensor(values, dtype), 1); }

TEST(Gather, WorksAlongBothAxes) {
  EXPECT_TRUE(tensors_equal(gather(one_to_six, 1, tensor({{2, 0}, {1, 1}}, i64)), tensor({{3, 1}, {5, 5}})));
  EXPECT_TRUE(tensors_equal(gather(one_to_six, 0, tensor({{1, 0, 1}}, i64)), tensor({{4, 2, 6}})));
  EXPECT_TRUE(tensors_equal(gather(one_to_six, -2, zeros({0, 3}, i64)), zeros({0, 3})));
}

TEST(Gather, CountsNegativeIndicesFromTheEnd) {
  EXPECT_TRUE(tensors_equal(gather(one_to_six, 1, tensor({{-1, 0}, {-3, 2}}, i64)), tensor({{3, 1}, {4, 6}})));
  EXPECT_TRUE(tensors_equal(index_select(one_to_six, 1, tensor({-1}, i64)), tensor({{3}, {6}})));
  EXPECT_TRUE(tensors_equal(index_add(zeros({3}), 0, tensor({-1, 2}, i64), ones({2})), tensor({0, 0, 2})));
}

TEST(Gather, AgreesWithLoops) {
  const Tensor x = sample_normal({3, 4, 5}), index = randint(0, 4, {3, 7, 5});
  const Tensor y = gather(x, 1, index);
  for (int64_t o = 0; o < 3; ++o)
    for (int64_t c = 0; c < 7; ++c)
      for (int64_t i = 0; i < 5; ++i) ASSERT_EQ(y[o][c][i].item(), x[o][index[o][c][i].item<int64_t>()][i].item());
}

TEST(Gather, AcceptsEveryDtype) {
  for (const DType dtype : {f32, f64, i64, boolean})
    EXPECT_TRUE(tensors_equal(gather(tensor({1, 0}, dtype), 0, tensor({1, 0, 0}, i64)), tensor({0, 1, 1}, dtype)));
}

TEST(Gather, RefusesInvalidIndicesAndShapes) {
  EXPECT_TAPE_ERROR(gather(one_to_six, 1, column({0, 3}, i64)), ErrorKind::index,
                    "gather: index 3 at position [1, 0] is outside [-3, 3)");
  EXPECT_TAPE_ERROR(gather(one_to_six, 1, column({0, -4}, i64)), ErrorKind::index,
                    "gather: index -4 at position [1, 0] is outside [-3, 3)");
  EXPECT_TAPE_ERROR(gather(one_to_six, 1, zeros({1, 1}, i64)), ErrorKind::shape,
                    "gather: the index [1, 1] and x [2, 3] differ outside axis 1");
  EXPECT_TAPE_ERROR(gather(one_to_six, 1, tensor({0}, i64)), ErrorKind::shape,
                    "gather: the index [1] and x [2, 3] differ outside axis 1");
  EXPECT_TAPE_ERROR(gather(one_to_six, 1, column({0, 1}, f32)), ErrorKind::dtype,
                    "gather: the index must be i64, got f32");
  EXPECT_TAPE_ERROR(gather(zeros({0}), 0, tensor({0}, i64)), ErrorKind::index,
                    "gather: index 0 at position 0 is outside [0, 0)");
}

TEST(ScatterAdd, AccumulatesRepeatedIndices) {
  const Tensor y = scatter_add(one_to_six, 1, tensor({{2, 2}, {0, 1}}, i64), tensor({{10, 20}, {30, 40}}));
  EXPECT_TRUE(tensors_equal(y, tensor({{1, 2, 33}, {34, 45, 6}})));
  EXPECT_TRUE(tensors_equal(one_to_six, tensor({{1, 2, 3}, {4, 5, 6}})));
}

TEST(ScatterAdd, RefusesInvalidIndicesAndSources) {
  const Tensor index = tensor({{2, 2}, {0, 1}}, i64);
  EXPECT_TAPE_ERROR(scatter_add(one_to_six, 1, index, column({1, 2}, f32)), ErrorKind::shape,
                    "scatter_add: the index [2, 2] and the source [2, 1] differ");
  EXPECT_TAPE_ERROR(scatter_add(one_to_six, 1, index, ones({2, 2}, f64)), ErrorKind::dtype,
                    "scatter_add: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(scatter_add(one_to_six.to(i64), 1, index, ones({2, 2}, i64)), ErrorKind::dtype,
                    "scatter_add: needs f32 or f64, got i64");
  EXPECT_TAPE_ERROR(scatter_add(one_to_six, 1, index + 1, ones({2, 2})), ErrorKind::index,
                    "scatter_add: index 3 at position [0, 0] is outside [-3, 3)");
}

TEST(IndexSelect, WorksAlongBothAxes) {
  EXPECT_TRUE(
      tensors_equal(index_select(one_to_six, 0, tensor({1, 1, 0}, i64)), tensor({{4, 5, 6}, {4, 5, 6}, {1, 2, 3}})));
  EXPECT_TRUE(tensors_equal(index_select(one_to_six, -1, tensor({2, 0}, i64)), tensor({{3, 1}, {6, 4}})));
  EXPECT_TRUE(tensors_equal(index_select(tensor({1, 0}, boolean), 0, tensor({1}, i64)), tensor({0}, boolean)));
  EXPECT_EQ(index_select(one_to_six, 0, zeros({0}, i64)).shape(), Shape({0, 3}));
}

TEST(IndexSelect, RefusesInvalidIndices) {
  EXPECT_TAPE_ERROR(index_select(one_to_six, 0, tensor({0, 1, 2}, i64)), ErrorKind::index,
                    "index_select: index 2 at position 2 is outside [-2, 2)");
  EXPECT_TAPE_ERROR(index_select(one_to_six, 0, zeros({1, 1}, i64)), ErrorKind::shape,
                    "index_select: the index must have one axis, got [1, 1]");
  EXPECT_TAPE_ERROR(index_select(one_to_six, 0, tensor({0})), ErrorKind::dtype,
                    "index_select: the index must be i64, got f32");
}

TEST(IndexAdd, AccumulatesRepeatedIndices) {
  const Tensor y = index_add(one_to_six, 0, tensor({1, 1}, i64), tensor({{1, 0, 0}, {10, 0, 100}}));
  EXPECT_TRUE(tensors_equal(y, tensor({{1, 2, 3}, {15, 5, 106}})));
}

TEST(IndexAdd, RefusesInvalidIndicesAndSources) {
  EXPECT_TAPE_ERROR(index_add(one_to_six, 0, tensor({1}, i64), ones({2, 3})), ErrorKind::shape,
                    "index_add: 1 indices for axis 0 of the source [2, 3]");
  EXPECT_TAPE_ERROR(index_add(one_to_six, 0, tensor({1}, i64), ones({1, 2})), ErrorKind::shape,
                    "index_add: the source [1, 2] and x [2, 3] differ outside axis 0");
  EXPECT_TAPE_ERROR(index_add(one_to_six, 0, tensor({5}, i64), ones({1, 3})), ErrorKind::index,
                    "index_add: index 5 at position 0 is outside [-2, 2)");
}

TEST(Embedding, LooksUpRows) {
  const Tensor ids = tensor({{1, 0}, {1, 1}}, i64);
  const Tensor y = embedding(one_to_six, ids);
  EXPECT_TRUE(tensors_equal(y, tensor({{{4, 5, 6}, {1, 2, 3}}, {{4, 5, 6}, {4, 5, 6}}})));
  EXPECT_TRUE(tensors_equal(embedding(one_to_six, scalar(1, i64)), tensor({4, 5, 6})));
  EXPECT_EQ(embedding(one_to_six, zeros({0, 4}, i64)).shape(), Shape({0, 4, 3}));
}

TEST(Embedding, AccumulatesGradientsOfRows) {
  const Tensor weight = ones({3, 2}, f64).requires_grad_();
  embedding(weight, tensor({2, 0, 2}, i64)).backward({.gradient = tensor({{1, 2}, {3, 4}, {5, 6}}, f64)});
  EXPECT_TRUE(tensors_equal(weight.grad(), tensor({{3, 4}, {0, 0}, {6, 8}}, f64)));
}

TEST(Embedding, GivesNoGradientToThePaddingRow) {
  const Tensor ids = tensor({2, 0, 2, 1}, i64);
  for (const bool create_graph : {false, true}) {
    const Tensor weight = ones({3, 2}, f64).requires_grad_();
    const Tensor y = embedding(weight, ids, {.padding_index = 2});
    const Tensor dweight = grad({sum(y * 3)}, {weight}, {.create_graph = create_graph})[0];
    EXPECT_TRUE(tensors_equal(dweight, tensor({{3, 3}, {3, 3}, {0, 0}}, f64))) << create_graph;
  }
}

TEST(Embedding, HasSecondDerivativesWithPadding) {
  const Tensor ids = tensor({2, 0, 2, 1}, i64);
  // The padding row has a value but no gradient, so the check of the first derivative excludes it.
  const auto f = [ids](const Tensors& in) {
    const Tensor y = embedding(cat({in[0], zeros({1, 2}, f64)}), ids, {.padding_index = 2});
    return y * y;
  };
  EXPECT_TRUE(gradients_match(gradcheck(f, {sample_normal({2, 2})})));
  EXPECT_TRUE(gradients_match(gradgradcheck(f, {sample_normal({2, 2})})));
}

TEST(Embedding, RefusesInvalidIdsAndWeights) {
  const Tensor weight = zeros({8000, 2});
  EXPECT_TAPE_ERROR(embedding(weight, tensor({1, 2, 3, 8000}, i64)), ErrorKind::index,
                    "embedding: id 8000 at position 3 is outside [0, 8000)");
  EXPECT_TAPE_ERROR(embedding(weight, tensor({{1, 2}, {-1, 0}}, i64)), ErrorKind::index,
                    "embedding: id -1 at position [1, 0] is outside [0, 8000)");
  EXPECT_TAPE_ERROR(embedding(weight, tensor({1})), ErrorKind::dtype, "embedding: the id must be i64, got f32");
  EXPECT_TAPE_ERROR(embedding(tensor({1}), tensor({0}, i64)), ErrorKind::shape,
                    "embedding: the weight must be [V, C], got [1]");
  EXPECT_TAPE_ERROR(embedding(weight, tensor({1}, i64), {.padding_index = 8000}), ErrorKind::config,
                    "embedding: padding_index 8000 is outside [0, 8000)");
}

TEST(Embedding, DetectsChangedIds) {
  const Tensor weight = ones({3, 2}).requires_grad_();
  Tensor ids = tensor({0, 1}, i64);
  const Tensor y = sum(embedding(weight, ids));
  ids.fill_(2);
  EXPECT_THROW(y.backward(), Error);
}

TEST(OneHot, SupportsEveryDtypeAndRefusesInvalidIds) {
  for (const DType dtype : {f32, f64, i64, boolean})
    EXPECT_TRUE(tensors_equal(one_hot(tensor({2, 0}, i64), 3, dtype), tensor({{0, 0, 1}, {1, 0, 0}}, dtype)));
  EXPECT_TRUE(tensors_equal(one_hot(scalar(1, i64), 2), tensor({0, 1})));
  EXPECT_EQ(one_hot(zeros({0, 2}, i64), 4).shape(), Shape({0, 2, 4}));
  EXPECT_TAPE_ERROR(one_hot(tensor({0}, i64), -1), ErrorKind::config,
                    "one_hot: the number of classes must not be negative, got -1");
  EXPECT_TAPE_ERROR(one_hot(tensor({3}, i64), 3), ErrorKind::index, "one_hot: id 3 at position 0 is outside [0, 3)");
}

}  // namespace
}  // namespace tape
