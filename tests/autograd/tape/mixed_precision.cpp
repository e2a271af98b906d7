#include <array>
#include <cstring>

#include "autograd/create.h"
#include "autograd/kernels/isa.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/op.h"
#include "autograd/ops/reduce.h"
#include "autograd/tape/scope.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Each value to the nearest of 8 significant bits, ties to even.
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

/// Runs the test where bf16 can be had; elsewhere the scope must say that it cannot.
bool have_bf16() {
  if (kernels::bf16_supported()) return true;
  EXPECT_TAPE_ERROR(
      MixedPrecision(), ErrorKind::config,
      "MixedPrecision: this CPU cannot multiply bf16 (it needs AMX-BF16 or AVX512-BF16, and kernels of level v4)");
  return false;
}

// Sizes that are faster in bf16 than exact on every road.
TEST(MixedPrecision, ProductsAreThoseOfRoundedOperands) {
  if (!have_bf16()) return;
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{13, 33, 40}, {40, 70, 129}, {5, 17, 1601}, {5, 1601, 17}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        const Tensor a = normal(ta ? Shape{k, m} : Shape{m, k}, 1), b = normal(tb ? Shape{n, k} : Shape{k, n}, 2);
        const MatmulOptions options{.transpose_a = ta, .transpose_b = tb};
        const Tensor wanted = matmul(to_bf16(a), to_bf16(b), options);
        const MixedPrecision scope;
        EXPECT_TRUE(tensors_near(matmul(a, b, options), wanted, 1e-4));
      }
}

TEST(MixedPrecision, GradientsRoundToo) {
  if (!have_bf16()) return;
  Tensor x = normal({20, 40}, 1).requires_grad_(), w = normal({25, 40}, 2).requires_grad_(),
         b = normal({25}, 3).requires_grad_();
  const Tensor dy = normal({20, 25}, 4);
  Tensor y;
  {
    const MixedPrecision scope;
    y = linear(x, w, b);
  }
  backward({y}, {dy});
  EXPECT_EQ(y.dtype(), f32);
  EXPECT_TRUE(tensors_near(y, linear(to_bf16(x), to_bf16(w), b.detach()), 1e-4));
  EXPECT_TRUE(tensors_near(x.grad(), matmul(to_bf16(dy), to_bf16(w)), 1e-4));
  EXPECT_TRUE(tensors_near(w.grad(), matmul(to_bf16(dy), to_bf16(x), {.transpose_a = true}), 1e-4));
  EXPECT_TRUE(tensors_near(b.grad(), sum(dy, 0), 1e-4));  // no product: exact
}

TEST(MixedPrecision, EndsWithItsScopeAndCanBeLiftedInside) {
  if (!have_bf16()) return;
  const Tensor a = normal({30, 40}, 1), b = normal({40, 50}, 2), exact = matmul(a, b);
  {
    const MixedPrecision scope;
    EXPECT_NE(matmul(a, b).to_vector<float>(), exact.to_vector<float>());
    const MixedPrecision lifted(false);
    EXPECT_EQ(matmul(a, b).to_vector<float>(), exact.to_vector<float>());
  }
  EXPECT_FALSE(MixedPrecision::active());
  EXPECT_EQ(matmul(a, b).to_vector<float>(), exact.to_vector<float>());
}

TEST(MixedPrecision, LeavesDoublesAlone) {
  if (!have_bf16()) return;
  const Tensor a = sample_normal({6, 7}), b = sample_normal({7, 8}), exact = matmul(a, b);
  const MixedPrecision scope;
  EXPECT_EQ(matmul(a, b).to_vector<double>(), exact.to_vector<double>());
}

TEST(MixedPrecision, IsRefusedWhereKernelsCannot) {
  const kernels::Isa before = kernels::isa();
  if (before == kernels::Isa::v4) kernels::set_isa(kernels::Isa::v3);
  EXPECT_TAPE_ERROR(
      MixedPrecision(), ErrorKind::config,
      "MixedPrecision: this CPU cannot multiply bf16 (it needs AMX-BF16 or AVX512-BF16, and kernels of level v4)");
  kernels::set_isa(before);
}

}  // namespace
}  // namespace tape
