#include "autograd/ops/index/scatter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops/reduce/counting.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/diagonal.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/repeat.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensor id_list(std::initializer_list<Values> values) { return tensor(values, i64); }

TEST(Scatter, SendsTheGradientOnlyToTheLastOfRepeatedIndices) {
  const Tensor x = zeros({1, 3}, f64).requires_grad_(), source = tensor({{1, 2, 3}}, f64).requires_grad_();
  const Tensor y = scatter(x, 1, id_list({{0, 2, 0}}), source);
  EXPECT_TRUE(tensors_equal(y.detach(), tensor({{3, 0, 2}}, f64)));
  sum(y).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{0, 1, 0}}, f64)));
  EXPECT_TRUE(tensors_equal(source.grad(), tensor({{0, 1, 1}}, f64)));
}

TEST(Scatter, AcceptsEveryDtype) {
  for (const DType dtype : {f32, f64, i64, boolean})
    EXPECT_TRUE(tensors_equal(scatter(zeros({3}, dtype), 0, id_list({-1, 0}), 1), tensor({1, 0, 1}, dtype)));
}

TEST(Scatter, RefusesInvalidIndicesAndSources) {
  EXPECT_TAPE_ERROR(scatter(ones({3}), 0, id_list({3}), 1), ErrorKind::index,
                    "scatter: index 3 at position 0 is outside [-3, 3)");
  EXPECT_TAPE_ERROR(scatter(ones({3}), 0, id_list({0}), ones({2})), ErrorKind::shape,
                    "scatter: the index [1] and the source [2] differ");
  EXPECT_TAPE_ERROR(scatter(ones({2, 3}), 0, id_list({{0}}), 1), ErrorKind::shape,
                    "scatter: the index [1, 1] and x [2, 3] differ outside axis 0");
  EXPECT_TAPE_ERROR(index_copy(ones({3}), 0, id_list({0, 1}), ones({1})), ErrorKind::shape,
                    "index_copy: 2 indices for axis 0 of the source [1]");
}

TEST(ScatterReduce, RefusesIntegersAndSecondDerivativesOfZeros) {
  EXPECT_TAPE_ERROR(scatter_reduce(arange(3), 0, id_list({0}), id_list({1}), Reduce::amax), ErrorKind::dtype,
                    "scatter_reduce: needs a floating dtype, got i64");
  const Tensor x = tensor({0, 2}, f64).requires_grad_();
  const Tensor y = scatter_reduce(x, 0, id_list({0}), ones({1}, f64), Reduce::prod);
  EXPECT_TAPE_ERROR(grad({sum(y)}, {x}, {.create_graph = true}), ErrorKind::graph,
                    "scatter_reduce: a product with zero factors has no second derivative");
}

TEST(TakeAlongDim, FlattensWithoutAnAxis) {
  EXPECT_TRUE(tensors_equal(take_along_dim(one_to_six, id_list({{5, 0}})), tensor({6, 1})));
  EXPECT_TAPE_ERROR(take_along_dim(one_to_six, id_list({0}), 1), ErrorKind::shape,
                    "take_along_dim: x [2, 3] and the index [1] differ in rank");
}

TEST(Diagonal, RefusesARepeatedAxis) {
  EXPECT_TAPE_ERROR(diagonal(one_to_six, 0, 1, -1), ErrorKind::config, "diagonal: axes 1 and -1 are the same");
  EXPECT_TAPE_ERROR(diagonal(tensor({1})), ErrorKind::index, "diagonal: axis 1 is out of range for shape [1]");
  EXPECT_TAPE_ERROR(diag_embed(scalar(1)), ErrorKind::shape, "diag_embed: x needs at least one axis, got []");
  EXPECT_EQ(diagonal(one_to_six, -7).shape(), Shape({0}));
  EXPECT_EQ(diag_embed(zeros({0})).shape(), Shape({0, 0}));
}

TEST(Unfold, RefusesWindowsLongerThanTheAxis) {
  EXPECT_TAPE_ERROR(unfold(one_to_six, 1, 4, 1), ErrorKind::config,
                    "unfold: the size 4 is outside 0 .. 3 (axis 1 of [2, 3])");
  EXPECT_TAPE_ERROR(unfold(one_to_six, 1, 2, 0), ErrorKind::config, "unfold: the step must be at least 1, got 0");
}

TEST(PutSlice, IsRecordedAndDoesNotChangeItsInput) {
  EXPECT_TRUE(tensors_equal(put_slice(one_to_six, 1, 1, zeros({2, 1})), tensor({{1, 0, 3}, {4, 0, 6}})));
  EXPECT_TRUE(tensors_equal(one_to_six, tensor({{1, 2, 3}, {4, 5, 6}})));
  EXPECT_TAPE_ERROR(put_slice(one_to_six, 1, 2, zeros({2, 2})), ErrorKind::index,
                    "put_slice: positions 2 to 3 are outside axis 1 of [2, 3]");
  EXPECT_TAPE_ERROR(put_slice(one_to_six, 1, INT64_MAX, zeros({2, 2})), ErrorKind::shape,
                    "put_slice: 9223372036854775807 + 2 overflows");
}

TEST(RepeatInterleave, RefusesInvalidCounts) {
  EXPECT_TAPE_ERROR(repeat_interleave(one_to_six, -1), ErrorKind::config,
                    "repeat_interleave: the count must not be negative, got -1");
  EXPECT_TAPE_ERROR(repeat_interleave(one_to_six, id_list({1}), 1), ErrorKind::shape,
                    "repeat_interleave: counts [1] for axis 1 of [2, 3]");
  EXPECT_TAPE_ERROR(repeat_interleave(one_to_six, id_list({1, -2}), 0), ErrorKind::config,
                    "repeat_interleave: counts must not be negative, got -2 at position 1");
  EXPECT_TAPE_ERROR(repeat_interleave(one_to_six, ones({2}), 0), ErrorKind::dtype,
                    "repeat_interleave: the counts must be i64, got f32");
  EXPECT_TAPE_ERROR(repeat_interleave(tensor({1, 2}), from_vector<int64_t>({INT64_MAX, 1}), 0), ErrorKind::shape,
                    "repeat_interleave: 9223372036854775807 + 1 overflows");
  EXPECT_TAPE_ERROR(meshgrid({}), ErrorKind::config, "meshgrid: needs at least one vector");
  EXPECT_TAPE_ERROR(meshgrid({ones({2}), one_to_six}), ErrorKind::shape,
                    "meshgrid: vector 1 has more than one axis: [2, 3]");
  EXPECT_TAPE_ERROR(roll(one_to_six, {1}, {0, 1}), ErrorKind::config, "roll: 1 shifts for 2 axes");
  EXPECT_TRUE(unbind(zeros({0, 2})).empty());
}

TEST(Counting, HandlesEmptyInputAndNaN) {
  EXPECT_TRUE(tensors_equal(bincount(zeros({0}, i64), {.minlength = 2}), id_list({0, 0})));
  EXPECT_TAPE_ERROR(bincount(id_list({1, -1})), ErrorKind::index,
                    "bincount: id -1 at position 1 is outside [0, 9223372036854775807)");
  EXPECT_TAPE_ERROR(bincount(id_list({1}), {.weights = ones({2})}), ErrorKind::shape,
                    "bincount: weights [2] for ids [1]");
  EXPECT_TAPE_ERROR(bincount(id_list({1}), {.minlength = -1}), ErrorKind::config,
                    "bincount: minlength must not be negative, got -1");
  const Unique found = unique(tensor({NAN, 2, NAN, 1, 2}));
  EXPECT_TRUE(tensors_equal(found.values, tensor({1, 2, NAN, NAN})));
  EXPECT_TRUE(tensors_equal(found.inverse, id_list({2, 1, 3, 0, 1})));
  EXPECT_TRUE(tensors_equal(found.counts, id_list({1, 2, 1, 1})));
  const Tensor rows = tensor({{3, 1}, {2, 9}, {3, 1}, {2, 4}});
  const Unique slices = unique(rows, 0), columns = unique(transpose(rows), -1);
  EXPECT_TRUE(tensors_equal(slices.values, tensor({{2, 4}, {2, 9}, {3, 1}})));
  EXPECT_TRUE(tensors_equal(slices.inverse, id_list({2, 1, 2, 0})));
  EXPECT_TRUE(tensors_equal(slices.counts, id_list({1, 1, 2})));
  EXPECT_TRUE(tensors_equal(columns.values, transpose(slices.values)));
  EXPECT_TRUE(tensors_equal(columns.inverse, slices.inverse));
  const Unique of_nan = unique(tensor({{NAN, 1}, {NAN, 1}, {0, 2}}), 0);
  EXPECT_TRUE(tensors_equal(of_nan.counts, id_list({1, 1, 1})));
  EXPECT_TRUE(tensors_equal(of_nan.inverse, id_list({1, 2, 0})));
  EXPECT_TRUE(tensors_equal(unique(tensor({2, 0, 2}, u8), 0).values, tensor({0, 2}, u8)));
  EXPECT_EQ(unique(zeros({0, 2}), 0).values.shape(), Shape({0, 2}));
  EXPECT_TAPE_ERROR(unique(zeros({3, 0}), 0), ErrorKind::shape, "unique: the slices along axis 0 of [3, 0] are empty");
  EXPECT_TAPE_ERROR(unique(rows, 2), ErrorKind::index, "unique: axis 2 is out of range for shape [4, 2]");
  EXPECT_EQ(unique(zeros({0, 2})).values.shape(), Shape({0}));
  EXPECT_TRUE(tensors_equal(unique(tensor({1, 0, 1}, boolean)).counts, id_list({1, 2})));
}

}  // namespace
}  // namespace tape
