// The module path in errors from in-place writes and gradient functions; tests/nn/module/call.cpp tests it for shape
// errors in the forward pass.

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/tape/tape.h"
#include "nn/module/module.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

/// Overwrites a tensor that its exp() has saved.
struct Overwriter : Layer<Overwriter> {
  Tensor forward(const Tensor& x) {
    Tensor y = exp(x);
    const NoGrad no_grad;
    y.fill_(1);
    return y;
  }
};

/// Overwrites the leaf that it receives.
struct Writer : Layer<Writer> {
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    return y.add_(1);
  }
};

struct Careless : Layer<Careless> {
  Child<Overwriter> overwriter{this, "blocks.overwriter"};
  Child<Writer> writer{this, "blocks.writer"};
  Tensor forward(const Tensor& x, bool write) { return write ? writer(x) : overwriter(x); }
};

TEST(ErrorPaths, PrecedeInPlaceErrors) {
  Careless model;
  const Tensor x = ones({2}).requires_grad_();
  EXPECT_TAPE_ERROR(
      model(x, true), ErrorKind::graph,
      "blocks.writer: add_: in-place write to a tensor [2] that requires gradients; use a NoGrad scope or "
      "detach()");
  // backward() detects the change, and knows the path if a Trace scope was open.
  const std::string found =
      "backward of 'exp': a saved value [2] was modified in place (version 2, saved at version 1)";
  EXPECT_TAPE_ERROR(model(x, false).backward({.gradient = ones({2})}), ErrorKind::graph, found);
  const Trace trace;
  EXPECT_TAPE_ERROR(model(x, false).backward({.gradient = ones({2})}), ErrorKind::graph, "blocks.overwriter: " + found);
  EXPECT_TAPE_ERROR(grad({model(x, false)}, {x}, {.gradients = {ones({2})}}), ErrorKind::graph,
                    "blocks.overwriter: " + found);
}

/// A custom gradient of the wrong shape.
struct Misshapen : Layer<Misshapen> {
  Tensor forward(const Tensor& x) {
    return custom(
        "misshapen", {x}, [](const Tensors& in) { return in[0] * 2; },
        [](const BackwardContext&) -> Tensors { return {ones({5})}; });
  }
};

TEST(ErrorPaths, PrecedeShapeErrorsOfBackward) {
  struct Outermost : Layer<Outermost> {
    Child<Misshapen> inner{this, "inner"};
    Tensor forward(const Tensor& x) { return inner(x); }
  } model;
  const Trace trace;
  EXPECT_TAPE_ERROR(model(ones({2}).requires_grad_()).backward({.gradient = ones({2})}), ErrorKind::shape,
                    "inner: backward of 'misshapen': the gradient of input 0 is f32 [5], the input is f32 [2]");
}

}  // namespace
}  // namespace tape::nn
