#include <array>
#include <cstring>
#include <optional>

#include "autograd/create.h"
#include "autograd/kernels/product/common/bf16_backend.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/convolution/convolution.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/linear_cross_entropy.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "autograd/tape/scope.h"
#include "autograd/transforms/checkpoint.h"
#include "tests/support/emulated_tiles.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Enables the emulated tiles, which run on every CPU, until the test ends.
class MatmulPrecisions : public ::testing::Test {
  const kernels::testing::EmulatedTiles tiles_;
};

/// Rounds each value to 8 significant bits, ties to even.
Tensor to_bf16(const Tensor& x) {
  Tensor y = x.detach().clone();
  float* values = y.mutable_data<float>();
  for (int64_t i = 0; i < y.numel(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
    std::memcpy(values + i, &bits, sizeof(bits));
  }
  return y;
}

Tensor normal(const Shape& shape, uint64_t seed) {
  Generator stream(seed);
  return randn(shape, f32, stream);
}

/// Leaves the values unchanged.
Tensor as_it_is(const Tensor& x) { return x.detach(); }

struct Rounding {
  MatmulPrecision precision;
  Tensor (*operand)(const Tensor&);
  double tolerance;
};
// High precision: 2^-16 of sums of at most 1,601 products near 1.
const std::array<Rounding, 2> kRoundings{
    {{MatmulPrecision::medium, to_bf16, 1e-4}, {MatmulPrecision::high, as_it_is, 1e-3}}};

// Sizes for which rounding is faster than exact products.
TEST_F(MatmulPrecisions, RoundTheOperandsOfProducts) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{13, 33, 40}, {40, 70, 129}, {5, 17, 1601}, {5, 1601, 17}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const Rounding& rounding : kRoundings) {
          const Tensor a = normal(ta ? Shape{k, m} : Shape{m, k}, 1), b = normal(tb ? Shape{n, k} : Shape{k, n}, 2);
          const MatmulOptions options{.transpose_a = ta, .transpose_b = tb};
          const Tensor wanted = matmul(rounding.operand(a), rounding.operand(b), options);
          const MatmulPrecisionScope scope(rounding.precision);
          const Tensor y = matmul(a, b, options);
          EXPECT_TRUE(tensors_near(y, wanted, rounding.tolerance));
          const MatmulPrecisionScope exact(MatmulPrecision::highest);
          EXPECT_NE(y.to_vector<float>(), matmul(a, b, options).to_vector<float>());
        }
}

TEST_F(MatmulPrecisions, RoundTheOperandsOfGradientsEvenOutsideTheScope) {
  for (const auto& [precision, operand, tolerance] : kRoundings) {
    Tensor x = normal({20, 40}, 1).requires_grad_(), w = normal({25, 40}, 2).requires_grad_(),
           b = normal({25}, 3).requires_grad_();
    const Tensor dy = normal({20, 25}, 4);
    Tensor y;
    {
      const MatmulPrecisionScope scope(precision);
      y = linear(x, w, b);
    }
    backward({y}, {dy});
    EXPECT_EQ(y.dtype(), f32);
    const Tensor exact = matmul(dy, w.detach());
    EXPECT_TRUE(tensors_near(y, linear(operand(x), operand(w), b.detach()), tolerance));
    EXPECT_TRUE(tensors_near(x.grad(), matmul(operand(dy), operand(w)), tolerance));
    EXPECT_NE(x.grad().to_vector<float>(), exact.to_vector<float>());
    EXPECT_TRUE(tensors_near(w.grad(), matmul(operand(dy), operand(x), {.transpose_a = true}), tolerance));
    EXPECT_TRUE(tensors_near(b.grad(), sum(dy, 0), 1e-4));  // not a product, so exact
  }
}

TEST_F(MatmulPrecisions, EndWithTheirScopeAndCanBeRaisedInside) {
  const Tensor a = normal({30, 40}, 1), b = normal({40, 50}, 2), exact = matmul(a, b);
  EXPECT_EQ(MatmulPrecisionScope::current(), MatmulPrecision::highest);
  {
    const MatmulPrecisionScope medium(MatmulPrecision::medium);
    EXPECT_NE(matmul(a, b).to_vector<float>(), exact.to_vector<float>());
    const MatmulPrecisionScope highest(MatmulPrecision::highest);
    EXPECT_EQ(matmul(a, b).to_vector<float>(), exact.to_vector<float>());
  }
  EXPECT_EQ(MatmulPrecisionScope::current(), MatmulPrecision::highest);
  EXPECT_EQ(matmul(a, b).to_vector<float>(), exact.to_vector<float>());
}

TEST_F(MatmulPrecisions, ArePreservedByCheckpoints) {
  const auto gradient = [](bool in_checkpoint) {
    Tensor x = normal({20, 40}, 1).requires_grad_();
    const Tensor w = normal({40, 50}, 2);
    const auto product = [w](const Tensors& in) { return matmul(in[0], w); };
    Tensor loss;
    {
      const MatmulPrecisionScope scope(MatmulPrecision::medium);
      loss = sum(square(in_checkpoint ? checkpoint(product, {x}) : product({x})));
    }
    loss.backward();
    return x.grad().to_vector<float>();
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

TEST_F(MatmulPrecisions, ApplyToAttentionItsGradientsAndComposedAttention) {
  const auto attend = [](MatmulPrecision precision, bool composed) {
    Tensors in;
    for (uint64_t i = 0; i < 3; ++i) in.push_back(normal({2, 260, 16}, i).requires_grad_());
    Tensor y;
    {
      const MatmulPrecisionScope scope(precision);
      std::optional<Composed> unfused;
      if (composed) unfused.emplace();
      y = scaled_dot_product_attention(in[0], in[1], in[2], {.mask = Mask::causal()});
    }
    backward({y}, {normal(y.shape(), 7)});
    return Tensors{y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
  };
  const Tensors exact = attend(MatmulPrecision::highest, false);
  for (const auto& [precision, operand, tolerance] : kRoundings) {
    const Tensors fused = attend(precision, false), unfused = attend(precision, true);
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NE(fused[i].to_vector<float>(), exact[i].to_vector<float>()) << i;
      EXPECT_TRUE(tensors_near(fused[i], exact[i], precision == MatmulPrecision::high ? 1e-3 : 5e-2)) << i;
      EXPECT_TRUE(tensors_near(fused[i], unfused[i], precision == MatmulPrecision::high ? 1e-3 : 5e-2)) << i;
    }
  }
}

/// An operation whose products use the precision of the scope it was called in.
struct PreciseCall {
  const char* name;
  Tensor (*compute)(const Tensors& leaves);
  std::vector<Shape> leaves;
};

const PreciseCall kPreciseCalls[] = {
    {"matmul", [](const Tensors& in) { return matmul(in[0], in[1]); }, {{64, 48}, {48, 64}}},
    {"linear", [](const Tensors& in) { return linear(in[0], in[1], in[2]); }, {{64, 48}, {64, 48}, {64}}},
    {"conv1d", [](const Tensors& in) { return conv1d(in[0], in[1]); }, {{2, 16, 64}, {32, 16, 3}}},
    {"scaled_dot_product_attention",
     [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); },
     {{2, 64, 32}, {2, 64, 32}, {2, 64, 32}}},
    {"linear_cross_entropy",
     [](const Tensors& in) {
       std::vector<int64_t> target;
       for (int64_t i = 0; i < 128; ++i) target.push_back(i * 13 % 40);
       return linear_cross_entropy(in[0], in[1], {}, from_vector(target), {}, 64);
     },
     {{128, 48}, {40, 48}}},
};

/// Recorded first derivatives, and derivatives of their squares, of a call recorded at a precision; computed inside or
/// outside the scope.
Tensors derivatives(const PreciseCall& call, MatmulPrecision precision, bool in_scope) {
  Tensors leaves;
  for (size_t i = 0; i < call.leaves.size(); ++i)
    leaves.push_back(sample_normal(call.leaves[i], static_cast<uint64_t>(i + 1)).to(f32).requires_grad_());
  std::optional<MatmulPrecisionScope> scope(std::in_place, precision);
  const Tensor y = sum(square(call.compute(leaves)));
  if (!in_scope) scope.reset();
  Tensors all = grad({y}, leaves, {.create_graph = true});
  Tensor squares = sum(square(all[0]));
  for (size_t i = 1; i < all.size(); ++i) squares = squares + sum(square(all[i]));
  for (const Tensor& second : grad({squares}, leaves)) all.push_back(second);
  return all;
}

TEST_F(MatmulPrecisions, ApplyToDerivativesOfTheCallOutsideTheScope) {
  for (const PreciseCall& call : kPreciseCalls) {
    const Tensors inside = derivatives(call, MatmulPrecision::medium, true),
                  outside = derivatives(call, MatmulPrecision::medium, false),
                  exact = derivatives(call, MatmulPrecision::highest, true);
    ASSERT_EQ(inside.size(), outside.size());
    for (size_t i = 0; i < inside.size(); ++i) {
      EXPECT_TRUE(tensors_equal(outside[i], inside[i])) << call.name << ", derivative " << i;
      EXPECT_FALSE(tensors_equal(outside[i], exact[i])) << call.name << ", derivative " << i;
    }
  }
}

TEST_F(MatmulPrecisions, ApplyToGradientsOfARecordedOperation) {
  static const Op op({.name = "product"}, Origin::run_time);
  const Tensor w = normal({40, 50}, 2);
  const auto gradient = [&](MatmulPrecision precision) {
    const Tensor x = normal({30, 40}, 1).requires_grad_();
    Tensor y;
    {
      const MatmulPrecisionScope scope(precision);
      y = record(op, {x}, matmul(x.detach(), w), {w}, [](const BackwardContext& c) -> Tensors {
        return {matmul(c.grad(), c.saved(0), {.transpose_b = true})};
      });
    }
    sum(square(y)).backward();
    return x.grad();
  };
  const auto by_hand = [&](MatmulPrecision precision) {
    const MatmulPrecisionScope scope(precision);
    return matmul(2 * matmul(normal({30, 40}, 1), w), w, {.transpose_b = true});
  };
  EXPECT_TRUE(tensors_equal(gradient(MatmulPrecision::medium), by_hand(MatmulPrecision::medium)));
  EXPECT_FALSE(tensors_equal(gradient(MatmulPrecision::medium), by_hand(MatmulPrecision::highest)));
}

TEST_F(MatmulPrecisions, DoNotAffectF64) {
  const Tensor a = sample_normal({30, 40}), b = sample_normal({40, 50}), exact = matmul(a, b);
  const MatmulPrecisionScope scope(MatmulPrecision::medium);
  EXPECT_EQ(matmul(a, b).to_vector<double>(), exact.to_vector<double>());
}

TEST(MatmulPrecision, IsHighestIfTheCpuHasNothingFaster) {
  const kernels::Bf16Backend before = kernels::bf16_backend();
  kernels::set_bf16_backend(kernels::Bf16Backend::none);
  const Tensor a = normal({30, 40}, 1), b = normal({40, 50}, 2), exact = matmul(a, b);
  for (const MatmulPrecision asked : {MatmulPrecision::high, MatmulPrecision::medium}) {
    EXPECT_EQ(matmul_precision_in_use(asked), MatmulPrecision::highest);
    const MatmulPrecisionScope scope(asked);
    EXPECT_EQ(matmul(a, b).to_vector<float>(), exact.to_vector<float>());
  }
  kernels::set_bf16_backend(before);
}

TEST(MatmulPrecision, UsesPyTorchsNames) {
  EXPECT_EQ(to_string(MatmulPrecision::highest), "highest");
  EXPECT_EQ(to_string(MatmulPrecision::high), "high");
  EXPECT_EQ(to_string(MatmulPrecision::medium), "medium");
}

}  // namespace
}  // namespace tape
