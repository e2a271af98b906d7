#include "inspect/explain.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

const ExplainOptions kUnsourced{.source = false};

TEST(Explain, DescribesATensorWithoutATape) {
  EXPECT_EQ(explain(tensor({1, 2, 6})),
            "f32 [3]: 1 .. 6, mean 3\nnot on the tape: it needs no gradient\nsaved by no node\n");
  EXPECT_EQ(explain(tensor({3, 3}, i64)), "i64 [2]: 3\nnot on the tape: it needs no gradient\nsaved by no node\n");
  EXPECT_EQ(explain(zeros({0, 2})), "f32 [0, 2]: empty\nnot on the tape: it needs no gradient\nsaved by no node\n");
  EXPECT_EQ(explain(Tensor()), "an undefined tensor: it has no values\n");
}

TEST(Explain, CountsValuesThatAreNotFinite) {
  const std::string text = explain(tensor({1, NAN, -INFINITY, 3, INFINITY}));
  EXPECT_EQ(text.substr(0, text.find('\n')), "f32 [5]: 1 .. 3, mean 2, 1 NaN, 2 inf");
  const std::string none = explain(tensor({NAN, NAN}, f64));
  EXPECT_EQ(none.substr(0, none.find('\n')), "f64 [2]: 2 NaN");
}

TEST(Explain, NamesTheOperationAndItsInputs) {
  const Tensor x = tensor({{1, 2}, {3, 4}}).requires_grad_(), w = ones({3, 2}).requires_grad_();
  Tensor y;
  {
    const Trace trace;
    const ModuleScope module("encoder.query");
    y = linear(x, w);
  }
  ExplainOptions options{.names = {{"query.weight", w}}, .source = false};
  EXPECT_EQ(explain(y, options),
            "f32 [2, 3]: 3 .. 7, mean 5\n"
            "made by 'linear' (node 2), in encoder.query\n"
            "  from f32 [2, 2], a leaf (node 0)\n"
            "  from f32 [3, 2], leaf query.weight\n"
            "  from input 2, which needs no gradient\n"
            "saved by no node so far (pass the loss to include later ones)\n");
  options.source = true;
  const std::string text = explain(y, options);
  EXPECT_NE(text.find("in encoder.query, at "), std::string::npos) << text;
}

TEST(Explain, ListsSavingNodesAndThePathFromTheLoss) {
  const Tensor x = tensor({1, 2}).requires_grad_();
  const Tensor h = exp(x);         // saves its output
  const Tensor square_of = h * h;  // saves both factors
  const Tensor loss = sum(square_of + sin(x));
  loss.backward({.retain_graph = true});
  EXPECT_EQ(explain(h, {.loss = loss, .source = false}),
            "f32 [2]: 2.718 .. 7.389, mean 5.054\n"
            "made by 'exp' (node 1)\n"
            "  from f32 [2], a leaf (node 0)\n"
            "saved by\n"
            "  'exp' (node 1), as its output\n"
            "  'mul' (node 2), 2 times\n"
            "the gradient comes from the loss along 2 paths, the shortest of 3 steps:\n"
            "  'sum' (node 5: axes=[0])\n"
            "  'add' (node 4)\n"
            "  'mul' (node 2)\n");
  EXPECT_EQ(explain(x, loss),
            "f32 [2]: 1 .. 2, mean 1.5\n"
            "a leaf (node 0): backward() accumulates its gradient\n"
            "saved by\n"
            "  'sin' (node 3)\n"
            "gradient: 15.32 .. 108.8, mean 62.05\n"
            "the gradient comes from the loss along 3 paths, the shortest of 3 steps:\n"
            "  'sum' (node 5: axes=[0])\n"
            "  'add' (node 4)\n"
            "  'sin' (node 3)\n");
  EXPECT_NE(explain(loss, loss).find("it is the loss\n"), std::string::npos);
  EXPECT_NE(explain(tensor({1}).requires_grad_(), loss).find("the loss does not depend on it\n"), std::string::npos);
  EXPECT_NE(explain(tensor({1}), loss).find("no gradient flows to it from the loss\n"), std::string::npos);
}

TEST(Explain, DistinguishesPartsOfAStorageAndSeveralOutputs) {
  const Tensor x = tensor({{1, 2}, {3, 4}}).requires_grad_();
  const TopK best = topk(x * 1.0, 1);
  const std::string values = explain(best.values, kUnsourced);
  EXPECT_NE(values.find("made by 'topk' (node 2: k=1, axis=1, largest=true)"), std::string::npos) << values;
  const Tensor loss = sum(square(x[1]));
  EXPECT_NE(explain(x, loss).find("  'square' (node 3), a part [2] of its storage\n"), std::string::npos)
      << explain(x, loss);
}

TEST(Explain, DescribesATensorOfAFreedTape) {
  const Tensor x = tensor({1, 2}).requires_grad_();
  const Tensor y = exp(x), loss = sum(y);
  loss.backward();
  EXPECT_EQ(explain(y),
            "f32 [2]: 2.718 .. 7.389, mean 5.054\nmade by 'exp' (node 0)\n  its inputs were freed by a backward\n"
            "saved by no node so far (pass the loss to include later ones)\n");
  EXPECT_TAPE_ERROR(explain(x, loss), ErrorKind::graph,
                    "explain: the tape of 'sum' was freed by a backward; call this before it, or pass retain_graph");
  EXPECT_TAPE_ERROR(explain(x, Tensor()), ErrorKind::graph, "explain: the loss is undefined");
  EXPECT_TAPE_ERROR(explain(x, tensor({1})), ErrorKind::graph,
                    "explain: the loss [1] has no graph: nothing it was computed from requires gradients");
}

}  // namespace
}  // namespace tape
