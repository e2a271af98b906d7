#include "autograd/ops/product/einsum.h"

#include <gtest/gtest.h>

#include <map>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// The sum by its definition, with one loop per letter. For equations with "->" and without "...".
Tensor by_loops(const std::string& equation, const Tensors& operands) {
  std::vector<std::string> terms{""};
  const size_t arrow = equation.find("->");
  for (const char c : equation.substr(0, arrow)) c == ',' ? terms.emplace_back() : terms.back() += c, void();
  const std::string output = equation.substr(arrow + 2);
  std::map<char, int64_t> sizes, place;
  for (size_t i = 0; i < terms.size(); ++i)
    for (size_t axis = 0; axis < terms[i].size(); ++axis)
      sizes[terms[i][axis]] = operands[i].shape()[static_cast<int64_t>(axis)];
  int64_t total = 1;
  for (const auto& [letter, size] : sizes) total *= size;
  const auto offset = [&](const std::string& term) {
    int64_t at = 0;
    for (const char letter : term) at = at * sizes[letter] + place[letter];
    return at;
  };
  std::vector<int64_t> shape;
  for (const char letter : output) shape.push_back(sizes[letter]);
  Tensor y = zeros(Shape(shape), f64);
  for (int64_t n = 0; n < total; ++n) {
    int64_t rest = n;
    for (const auto& [letter, size] : sizes) place[letter] = rest % size, rest /= size;
    double product = 1;
    for (size_t i = 0; i < terms.size(); ++i) product *= operands[i].data<double>()[offset(terms[i])];
    y.mutable_data<double>()[offset(output)] += product;
  }
  return y;
}

struct Example {
  const char* name;
  const char* equation;
  std::vector<Shape> shapes;
};
std::ostream& operator<<(std::ostream& stream, const Example& example) { return stream << example.equation; }

class Einsum : public testing::TestWithParam<Example> {
 protected:
  Tensors inputs() const {
    Tensors all;
    for (size_t i = 0; i < GetParam().shapes.size(); ++i) all.push_back(sample_normal(GetParam().shapes[i], i + 1));
    return all;
  }
};

TEST_P(Einsum, AgreesWithLoops) {
  EXPECT_TRUE(tensors_near(einsum(GetParam().equation, inputs()), by_loops(GetParam().equation, inputs()), 1e-12));
}

TEST_P(Einsum, HasCorrectGradients) {
  const auto f = [](const Tensors& in) { return einsum(GetParam().equation, in); };
  EXPECT_TRUE(gradients_match(gradcheck(f, inputs())));
  EXPECT_TRUE(gradients_match(gradgradcheck(f, inputs())));
}

INSTANTIATE_TEST_SUITE_P(
    Equations, Einsum,
    testing::Values(
        Example{"identity", "ij->ij", {{2, 3}}}, Example{"transpose", "ij->ji", {{2, 3}}},
        Example{"permute", "abc->cab", {{2, 3, 4}}}, Example{"total", "ij->", {{2, 3}}},
        Example{"rows", "ij->i", {{2, 3}}}, Example{"diagonal", "ii->i", {{3, 3}}}, Example{"trace", "ii->", {{3, 3}}},
        Example{"diagonal_in_front", "iij->ij", {{2, 2, 3}}}, Example{"diagonal_apart", "iji->ji", {{2, 3, 2}}},
        Example{"triple_diagonal", "iii->i", {{3, 3, 3}}}, Example{"two_diagonals", "ijij->ij", {{2, 3, 2, 3}}},
        Example{"matmul", "ij,jk->ik", {{2, 3}, {3, 4}}}, Example{"matmul_transposed", "ij,jk->ki", {{2, 3}, {3, 4}}},
        Example{"both_transposed", "ji,kj->ik", {{3, 2}, {4, 3}}},
        Example{"batch", "bij,bjk->bik", {{2, 3, 2}, {2, 2, 4}}},
        Example{"batch_inside", "ibj,jkb->kbi", {{3, 2, 2}, {2, 4, 2}}},
        Example{"scores", "bhqd,bhkd->bhqk", {{2, 2, 3, 2}, {2, 2, 4, 2}}},
        Example{"heads_inside", "bqhd,bkhd->bhqk", {{2, 3, 2, 2}, {2, 4, 2, 2}}},
        Example{"two_contracted", "ijk,jkl->il", {{2, 3, 2}, {3, 2, 2}}},
        Example{"two_contracted_swapped", "ijk,kjl->il", {{2, 3, 2}, {2, 3, 2}}},
        Example{"outer", "i,j->ij", {{2}, {3}}}, Example{"dot", "i,i->", {{3}, {3}}},
        Example{"elementwise", "ij,ij->ij", {{2, 3}, {2, 3}}}, Example{"broadcast_row", "ij,j->ij", {{2, 3}, {3}}},
        Example{"sum_in_one", "ij,k->k", {{2, 3}, {2}}}, Example{"with_scalar", ",ij->ji", {{}, {2, 3}}},
        Example{"bilinear", "bi,oij,bj->bo", {{2, 3}, {2, 3, 2}, {2, 2}}},
        Example{"chain", "ab,bc,cd->ad", {{2, 3}, {3, 2}, {2, 4}}},
        Example{"diagonal_in_a_product", "iij,jk->ik", {{2, 2, 3}, {3, 2}}},
        Example{"upper_case", "aB,Bc->ac", {{2, 3}, {3, 2}}},
        Example{"four", "i,j,k,ijk->", {{2}, {3}, {2}, {2, 3, 2}}}),
    [](const auto& example) { return std::string(example.param.name); });

TEST(EinsumReference, AttentionScoresMatchPyTorch) {
  expect_case(reference::einsum_attention, {{2, 2, 3, 2}, {2, 2, 2, 2}},
              [](const Tensors& in) { return einsum("bhqd,bhkd->bhqk", in); });
}
TEST(EinsumReference, BilinearFormMatchesPyTorch) {
  expect_case(reference::einsum_bilinear, {{2, 3}, {2, 3, 2}, {2, 2}},
              [](const Tensors& in) { return einsum("bi,oij,bj->bo", in); });
}
TEST(EinsumReference, EllipsisMatchesPyTorch) {
  expect_case(reference::einsum_ellipsis, {{2, 1, 2, 3}, {3, 3, 2}},
              [](const Tensors& in) { return einsum("...ij,...jk->...ik", in); });
}

TEST(EinsumEllipsis, AgreesWithMatmul) {
  const Tensor a = sample_normal({2, 1, 3, 4}, 1), b = sample_normal({5, 4, 2}, 2);
  EXPECT_TRUE(tensors_near(einsum("...ij,...jk->...ik", {a, b}), matmul(a, b), 1e-12));
  EXPECT_TRUE(tensors_near(einsum("...ij,...jk", {a, b}), matmul(a, b), 1e-12));
  EXPECT_TRUE(tensors_near(einsum("...ij,...jk->ik", {a, b}), sum(matmul(a, b), {0, 1}), 1e-12));
  EXPECT_TRUE(tensors_near(einsum("i...j,j...->...i", {sample_normal({2, 3, 4}, 1), sample_normal({4, 3}, 2)}),
                           einsum("ibj,jb->bi", {sample_normal({2, 3, 4}, 1), sample_normal({4, 3}, 2)}), 1e-12));
}

TEST(EinsumEllipsis, MayCoverNoAxesOrAllAxes) {
  const Tensor x = sample_normal({2, 3}, 1);
  EXPECT_TRUE(tensors_equal(einsum("...->...", {x}), x));
  EXPECT_TRUE(tensors_equal(einsum("...ij->...ji", {x}), transpose(x)));
  EXPECT_TRUE(tensors_near(einsum("...,...", {x, x}), x * x, 1e-12));
}

TEST(EinsumImplicit, OutputHasLettersThatOccurOnceInAlphabeticalOrder) {
  const Tensor a = sample_normal({2, 3}, 1), b = sample_normal({3, 4}, 2);
  EXPECT_TRUE(tensors_near(einsum("ij,jk", {a, b}), matmul(a, b), 1e-12));
  EXPECT_TRUE(tensors_equal(einsum("ba", {a}), transpose(a)));
  EXPECT_TRUE(tensors_near(einsum("ij,ij", {a, a}), sum(square(a)), 1e-12));
  EXPECT_TRUE(tensors_near(einsum(" i j , j k ", {a, b}), matmul(a, b), 1e-12));
}

TEST(EinsumSizes, MayBeZeroOrOne) {
  EXPECT_TRUE(tensors_equal(einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 3})}), zeros({2, 3})));
  EXPECT_EQ(einsum("bij,bjk->bik", {zeros({0, 2, 3}), zeros({0, 3, 4})}).shape(), Shape({0, 2, 4}));
  EXPECT_EQ(einsum("ii->i", {zeros({0, 0})}).shape(), Shape({0}));
  EXPECT_TRUE(tensors_equal(einsum("ii->i", {ones({1, 1})}), ones({1})));
}

TEST(EinsumErrors, NameTheEquation) {
  const Tensor a = zeros({2, 3}), b = zeros({4, 5});
  EXPECT_TAPE_ERROR(einsum("ij,jk", {a, b}), ErrorKind::shape,
                    "einsum: \"ij,jk\": letter 'j' is 3 in operand 0 [2, 3] and 4 in operand 1 [4, 5]");
  EXPECT_TAPE_ERROR(einsum("ii->i", {a}), ErrorKind::shape,
                    "einsum: \"ii->i\": letter 'i' is 2 in operand 0 [2, 3] and 3 in operand 0 [2, 3]");
  EXPECT_TAPE_ERROR(einsum("...i,...i", {zeros({2, 3}), zeros({4, 3})}), ErrorKind::shape,
                    "einsum: \"...i,...i\": axis -1 of \"...\" is 2 in operand 0 [2, 3] and 4 in operand 1 [4, 3]");
  EXPECT_TAPE_ERROR(einsum("ijk->i", {a}), ErrorKind::shape, "einsum: \"ijk->i\": operand 0 has 3 letters for [2, 3]");
  EXPECT_TAPE_ERROR(einsum("ij,k->i", {a, b}), ErrorKind::shape,
                    "einsum: \"ij,k->i\": operand 1 has 1 letters for [4, 5]");
  EXPECT_TAPE_ERROR(einsum("ij,jk->ik", {a}), ErrorKind::config, "einsum: \"ij,jk->ik\" needs 2 operands, got 1");
  EXPECT_TAPE_ERROR(einsum("ij->iz", {a}), ErrorKind::config,
                    "einsum: \"ij->iz\": letter 'z' of the result is in no operand");
  EXPECT_TAPE_ERROR(einsum("ij->ii", {a}), ErrorKind::config,
                    "einsum: \"ij->ii\": letter 'i' occurs twice in the result");
  EXPECT_TAPE_ERROR(einsum("i1->i", {a}), ErrorKind::config,
                    "einsum: \"i1->i\": '1' is not a letter, a comma, one \"...\" or \"->\"");
  EXPECT_TAPE_ERROR(einsum("i..j", {a}), ErrorKind::config,
                    "einsum: \"i..j\": '.' is not a letter, a comma, one \"...\" or \"->\"");
  EXPECT_TAPE_ERROR(einsum("......", {a}), ErrorKind::config,
                    "einsum: \"......\": '.' is not a letter, a comma, one \"...\" or \"->\"");
  EXPECT_TAPE_ERROR(einsum("ij->i->j", {a}), ErrorKind::config,
                    "einsum: \"ij->i->j\": '-' is not a letter, a comma, one \"...\" or \"->\"");
  EXPECT_TAPE_ERROR(einsum("ij,ij", {a, a.to(f64)}), ErrorKind::dtype, "matmul: dtypes differ: f32 and f64");
}

}  // namespace
}  // namespace tape
