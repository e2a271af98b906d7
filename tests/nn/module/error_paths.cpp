// The module path in front of errors that in-place writes and gradient functions raise; tests/nn/module/call.cpp has
// those of shapes in the forward pass.

#include "autograd/create.h"
#include "autograd/custom.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/tape/tape.h"
#include "nn/module/module.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

/// Writes over what its exp() has saved.
struct Overwriter : Layer<Overwriter> {
  Tensor forward(const Tensor& x) {
    Tensor y = exp(x);
    const NoGrad no_grad;
    y.fill_(1);
    return y;
  }
};

/// Writes over the leaf that it is given.
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

TEST(ErrorPaths, AreInFrontOfInPlaceErrors) {
  Careless model;
  const Tensor x = ones({2}).requires_grad_();
  EXPECT_TAPE_ERROR(
      model(x, true), ErrorKind::graph,
      "blocks.writer: add_: in-place write to a tensor [2] that requires gradients; use a NoGrad scope or "
      "detach()");
  // It is backward() that finds the value changed: the path is known where a Trace scope was open.
  const std::string found =
      "backward of 'exp': a saved value [2] was modified in place (version 2, saved at version 1)";
  EXPECT_TAPE_ERROR(model(x, false).backward({.gradient = ones({2})}), ErrorKind::graph, found);
  const Trace trace;
  EXPECT_TAPE_ERROR(model(x, false).backward({.gradient = ones({2})}), ErrorKind::graph, "blocks.overwriter: " + found);
  EXPECT_TAPE_ERROR(grad({model(x, false)}, {x}, {.gradients = {ones({2})}}), ErrorKind::graph,
                    "blocks.overwriter: " + found);
}

/// A hand-written gradient of the wrong shape.
struct Misshapen : Layer<Misshapen> {
  Tensor forward(const Tensor& x) {
    return custom(
        "misshapen", {x}, [](const Tensors& in) { return in[0] * 2; },
        [](const BackwardContext&) -> Tensors { return {ones({5})}; });
  }
};

TEST(ErrorPaths, AreInFrontOfShapeErrorsOfBackward) {
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
