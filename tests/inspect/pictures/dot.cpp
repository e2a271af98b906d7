#include "inspect/pictures/dot.h"

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

TEST(Dot, DrawsEachNodeInItsModule) {
  const Tensor x = tensor({1, 2}).requires_grad_(), w = tensor({3, 4}).requires_grad_();
  Tensor loss;
  {
    const Trace trace;
    const ModuleScope outer("encoder");
    Tensor h;
    {
      const ModuleScope list("layers.0");
      h = x * w;
    }
    loss = sum(exp(h));
  }
  loss.backward({.retain_graph = true});
  EXPECT_EQ(to_dot(loss, {.names = {{"encoder.layers.0.weight", w}}}), R"(digraph tape {
  rankdir=TB;
  node [shape=box, fontname="monospace"];
  edge [fontname="monospace"];
  n0 [label="leaf\nf32 [2]\nvalue 1 .. 2, mean 1.5\ngradient 60.26 .. 1.192e+04, mean 5992", shape=ellipse];
  subgraph "cluster_encoder" {
    label="encoder";
    n3 [label="exp\nf32 [2]\nvalue 20.09 .. 2981, mean 1501"];
    n4 [label="sum\naxes=[0]\nf32 []\nvalue 3001"];
    subgraph "cluster_encoder.layers.0" {
      label="layers.0";
      n1 [label="encoder.layers.0.weight\nf32 [2]\nvalue 3 .. 4, mean 3.5\ngradient 20.09 .. 5962, mean 2991", shape=ellipse];
      n2 [label="mul\nf32 [2]"];
    }
  }
  n0 -> n2;
  n1 -> n2;
  n2 -> n3;
  n3 -> n4;
}
)");
  EXPECT_EQ(to_dot(loss, {.values = false, .gradients = false}).find("value"), std::string::npos);
  EXPECT_EQ(to_dot(loss, {.values = false, .gradients = false}).find("gradient"), std::string::npos);
}

TEST(Dot, ShowsTheValuesOfTapeValues) {
  const Tensor x = tensor({1, 2}).requires_grad_();
  TapeValues kept;
  const Tensor loss = sum(exp(x * 2));
  grad({loss}, {x}, {.retain_graph = true});
  const std::string text = to_dot(loss, {.kept = &kept});
  for (const char* label :
       {"[label=\"leaf\\nf32 [2]\\nvalue 1 .. 2, mean 1.5\", shape=ellipse]",
        "[label=\"affine\\nscale=2, shift=0\\nf32 [2]\\nvalue 2 .. 4, mean 3\\ngradient 7.389 .. 54.6, mean 30.99\"]",
        "[label=\"exp\\nf32 [2]\\nvalue 7.389 .. 54.6, mean 30.99\\ngradient 1\"]",
        "[label=\"sum\\naxes=[0]\\nf32 []\\nvalue 61.99\\ngradient 1\"]"})
    EXPECT_NE(text.find(label), std::string::npos) << label << " in\n" << text;
  EXPECT_EQ(to_dot(loss, {.gradients = false, .kept = &kept}).find("gradient"), std::string::npos);
}

TEST(Dot, EscapesText) {
  const Tensor x = tensor({1}).requires_grad_();
  const std::string text = to_dot(sum(x), {.names = {{"a\"b\\c\n\x01</script>", x}}, .values = false});
  EXPECT_NE(text.find(R"([label="a\"b\\c\n </script>\nf32 [1]", shape=ellipse];)"), std::string::npos) << text;
  const Trace trace;
  const ModuleScope module("m\"x");
  EXPECT_NE(to_dot(exp(x)).find("subgraph \"cluster_m\\\"x\" {\n    label=\"m\\\"x\";"), std::string::npos);
}

TEST(Dot, NumbersTheOutputsOfOperationsWithSeveral) {
  const Tensor x = tensor({1, 2, 3, 4}).requires_grad_();
  const Tensors parts = split(exp(x), 2);
  const std::string text = to_dot(sum(parts[0] * parts[1]), {.values = false});
  if (parts[0].impl().node == parts[1].impl().node) {
    EXPECT_NE(text.find("[label=\"output 1\"]"), std::string::npos) << text;
  }
  EXPECT_EQ(text, to_dot(sum(parts[0] * parts[1]), {.values = false}));
}

TEST(Dot, RequiresATape) {
  EXPECT_TAPE_ERROR(to_dot(Tensor()), ErrorKind::graph, "to_dot: the loss is undefined");
  EXPECT_TAPE_ERROR(to_dot(tensor({1})), ErrorKind::graph,
                    "to_dot: the loss [1] has no graph: nothing it was computed from requires gradients");
}

}  // namespace
}  // namespace tape
