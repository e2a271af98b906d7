#include "autograd/ops/elementwise/dropout.h"

#include "autograd/kernels/random/random.h"
#include "autograd/ops/check.h"
#include "autograd/ops/deferred/dropped_sum.h"
#include "autograd/ops/fused.h"

namespace tape {
namespace {

const Op dropout_op({.name = "dropout",
                     .formula = {.forward = "y{y} = x ⊙ m / (1−p), m = 0 with probability p = {p}, else 1",
                                 .backward = {"dx = dy ⊙ m / (1−p), the same m"}},
                     .traits = {.random = true}});

struct Dropout {
  kernels::Dropout of;
  static constexpr bool saves_inputs = false;

  Results<1> results(Inputs in) const { return {{empty_result(in[0].shape(), in[0].options())}}; }
  bool computes_bf16(const kernels::Target& target, Inputs) const { return kernels::has_bf16_kernels(target); }
  void forward(const auto& c) const {
    if (!defer_dropout(c.at(), c.input(0), of, c.output()))
      kernels::random(c).dropout(c.numel(), of.seed, of.counter, of.p, c.in(0), c.out());
  }
  /// Repeats the same draws.
  Tensors gradients(const BackwardContext& c) const {
    const Tensor dropped = c.create_graph() ? Tensor() : take_dropped(c.grad(), of);
    return {dropped.defined() ? dropped : seeded_dropout(c.grad(), of.p, of.seed, of.counter)};
  }
};

}  // namespace

Tensor dropout(const Tensor& x, double p) { return dropout(x, p, generator(Stream::dropout)); }

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_dropout("dropout", p);
  if (p == 0) return x;
  return seeded_dropout(x, p, generator.seed(), generator.advance(x.numel()));
}

Tensor seeded_dropout(const Tensor& x, double p, uint64_t seed, uint64_t counter) {
  check_dropout("dropout", p);
  return fused(dropout_op, {x}, Dropout{{seed, counter, p}}, {{"p", p}});
}

}  // namespace tape
