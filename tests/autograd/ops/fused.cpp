#include "autograd/ops/fused.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

const Op fused_product_op({.name = "fused_product"}, Origin::run_time);

/// What the kernels received in one call.
struct Seen {
  std::string forward, backward;
  int references = 0;
};

/// y = a b with optional gradients: the shape of an operation that has a kernel.
struct FusedProduct {
  Seen* seen;
  Tensor offset = {};  // i64, saved but not used in the result

  Results<1, 1> results(Inputs in) const { return {{empty_like(in[0])}, {empty({1}, in[0].dtype())}}; }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    seen->forward = sizeof(T) == sizeof(float) ? "f32" : "f64";
    *c.kept(0) = T(7);
    for (int64_t i = 0; i < c.numel(); ++i) c.out()[i] = c.in(0)[i] * c.in(1)[i];
  }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    EXPECT_EQ(*c.kept(0), T(7));
    seen->backward += c.din(0) ? "a" : "-";
    seen->backward += c.din(1) ? "b" : "-";
    for (int64_t i = 0; i < c.numel(); ++i) {
      if (c.din(0)) c.din(0)[i] = c.dout()[i] * c.in(1)[i];
      if (c.din(1)) c.din(1)[i] = c.dout()[i] * c.in(0)[i];
    }
  }
  Tensor reference(Inputs in) const {
    ++seen->references;
    return in[0] * in[1];
  }
  std::array<Tensor, 1> constants() const { return {offset}; }
};

Tensor leaf(DType dtype) { return tensor({1.5, -2.0, 0.25}).to(dtype).requires_grad_(); }

TEST(Fused, RunsItsKernelInF32ForHalvesAndRoundsBack) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    Seen seen;
    const Tensor a = leaf(dtype), b = leaf(dtype);
    const Tensor y = fused(fused_product_op, {a, b}, FusedProduct{&seen});
    EXPECT_EQ(seen.forward, dtype == f64 ? "f64" : "f32");
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.to(f64).to_vector<double>(), (std::vector<double>{2.25, 4, 0.0625}));
    sum(y).backward();
    EXPECT_EQ(seen.backward, "ab");
    EXPECT_EQ(a.grad().dtype(), dtype);
    EXPECT_TRUE(tensors_equal(a.grad(), b.detach()));
    EXPECT_EQ(seen.references, 0);
  }
}

TEST(Fused, RequestsOnlyNeededGradients) {
  Seen seen;
  const Tensor a = leaf(f32), b = leaf(f32).detach();
  sum(fused(fused_product_op, {a, b}, FusedProduct{&seen})).backward();
  EXPECT_EQ(seen.backward, "a-");
}

TEST(Fused, RecordsNothingIfNoGradientIsRequired) {
  Seen seen;
  const Tensor b = leaf(f32).detach();
  EXPECT_TRUE(fused(fused_product_op, {b, b}, FusedProduct{&seen}).is_leaf());
  const NoGrad no_grad;
  EXPECT_TRUE(fused(fused_product_op, {leaf(f32), b}, FusedProduct{&seen}).is_leaf());
}

TEST(Fused, UsesTheReferenceInAComposedScopeAndForSecondDerivatives) {
  Seen seen;
  const Tensor a = leaf(f64), b = leaf(f64);
  {
    const Composed composed;
    EXPECT_TRUE(tensors_equal(fused(fused_product_op, {a, b}, FusedProduct{&seen}), a.detach() * b.detach()));
  }
  EXPECT_EQ(seen.references, 1);
  EXPECT_EQ(seen.forward, "");
  const Tensor y = sum(fused(fused_product_op, {a, b}, FusedProduct{&seen}));
  const Tensor da = grad({y}, {a}, {.create_graph = true})[0];
  EXPECT_EQ(seen.references, 2);
  EXPECT_EQ(seen.backward, "");
  EXPECT_TRUE(tensors_equal(grad({sum(da)}, {b})[0], ones({3}, f64)));
}

TEST(Fused, DetectsAChangedConstant) {
  Seen seen;
  Tensor offset = tensor({1, 2}, i64);
  const Tensor y = sum(fused(fused_product_op, {leaf(f32), leaf(f32)}, FusedProduct{&seen, offset}));
  offset.fill_(3);
  EXPECT_TAPE_ERROR(y.backward(), ErrorKind::graph,
                    "backward of 'fused_product': a saved value [2] was modified in place (version 2, saved "
                    "at version 1)");
}

TEST(Fused, RefusesIntegers) {
  Seen seen;
  const Tensor x = arange(3);
  EXPECT_TAPE_ERROR(fused(fused_product_op, {x, x}, FusedProduct{&seen}), ErrorKind::dtype,
                    "fused_product: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
