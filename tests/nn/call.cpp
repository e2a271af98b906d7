// Calling a module: its path, its hooks, and the path in an error that passes through.

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "models/transformer.h"
#include "nn/encoder.h"
#include "tests/support.h"

namespace tape::nn {
namespace {

/// Notes the module path it runs under.
struct Probe : Layer<Probe> {
  std::string path;
  Tensor forward(const Tensor& x) {
    path = ModuleScope::path();
    return x + 1.0;
  }
};

struct Inner : Layer<Inner> {
  Child<Probe> probe{this, "probe"};
  Tensor forward(const Tensor& x, const Tensor& y) { return probe(x) * y; }
};

struct Outer : Layer<Outer> {
  Children<Inner> layers{this, "layers", 2};
  Tensor forward(const Tensor& x) { return layers[1](layers[0](x, x), x); }
};

TEST(Call, RunsUnderItsPath) {
  Outer model;
  model(ones({1}));
  EXPECT_EQ(model.layers[0]->probe->path, "layers.0.probe");
  EXPECT_EQ(model.layers[1]->probe->path, "layers.1.probe");
  EXPECT_EQ(ModuleScope::path(), "");
}

TEST(Call, RunsOtherMethodsUnderItsPath) {
  Outer model;
  const double value = model.layers[0].run([](Inner& inner) { return inner.probe(ones({1})).item(); });
  EXPECT_EQ(value, 2);
  EXPECT_EQ(model.layers[0]->probe->path, "layers.0.probe");
}

TEST(Call, ShowsHooksInputsAndOutputs) {
  Outer model;
  std::vector<std::string> calls;
  Inner& inner = *model.layers[1];
  inner.register_forward_pre_hook([&](Module& module, const Tensors& in) {
    EXPECT_EQ(&module, &inner);
    calls.push_back(fmt::format("before {} {}", in[0].item(), in[1].item()));
  });
  inner.register_forward_hook([&](Module& module, const Tensors& in, const Tensor& out) {
    EXPECT_EQ(&module, &inner);
    calls.push_back(fmt::format("after {} {}", in.size(), out.item()));
    return Tensor();
  });
  EXPECT_EQ(model(full({1}, 2)).item(), ((2 + 1) * 2 + 1) * 2);
  EXPECT_EQ(calls, (std::vector<std::string>{"before 6 2", "after 2 14"}));
}

TEST(Call, LetsHooksReplaceTheOutputInTurn) {
  Outer model;
  Probe& probe = *model.layers[0]->probe;
  const int64_t twice =
      probe.register_forward_hook([](Module&, const Tensors&, const Tensor& out) { return out * 2.0; });
  probe.register_forward_hook([](Module&, const Tensors&, const Tensor& out) { return out + 1.0; });
  const Tensor x = ones({1}).requires_grad_();
  const Tensor y = model.layers[0](x, x);
  EXPECT_EQ(y.item(), 2 * 2 + 1);
  y.backward();
  EXPECT_EQ(x.grad().item(), 5 + 2);  // through what the hooks gave
  probe.remove_hook(twice);
  EXPECT_EQ(model.layers[0](x, x).item(), 2 + 1);
}

TEST(Call, LetsAHookRemoveItself) {
  Probe probe;
  int calls = 0;
  int64_t handle = 0;
  handle = probe.register_forward_pre_hook([&](Module& module, const Tensors&) {
    ++calls;
    module.remove_hook(handle);
  });
  probe(ones({1}));
  probe(ones({1}));
  EXPECT_EQ(calls, 1);
}

TEST(Call, PutsThePathInFrontOfAnError) {
  models::Transformer model({.src_vocab = 5, .tgt_vocab = 5, .d_model = 4, .layers = 2, .heads = 2, .d_ff = 6});
  const Tensor ids = tensor({{1, 2}, {3, 4}}, i64);
  model.encoder->layers[1]->self_attention->query->to(f64);
  EXPECT_TAPE_ERROR(model(ids, ids), ErrorKind::dtype,
                    "encoder.layers.1.self_attention.query: linear: dtypes differ: f32 and f64");
  model.encoder->layers[1]->self_attention->query->to(f32);
  model.decoder->layers[0]->feed_forward.as<FeedForward>()->activation->register_forward_hook(
      [](Module&, const Tensors&, const Tensor&) {
        return zeros({2, 2, 7});
      });
  try {
    model(ids, ids);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.module_path(), "decoder.layers.0.feed_forward.linear2");
    EXPECT_STREQ(error.what(),
                 "decoder.layers.0.feed_forward.linear2: linear: inner sizes differ: x [2, 2, 7] x weight [4, 6] (7 vs "
                 "6)");
  }
  EXPECT_EQ(ModuleScope::path(), "");
}

TEST(Call, PutsTheMethodsPathInFrontOfAnError) {
  EncoderLayer layer({.d_model = 4, .heads = 2, .d_ff = 4});
  EXPECT_TAPE_ERROR(layer.self_attention.run([](auto& attention) {
    return attention.project(zeros({1, 2, 3}));
  }),
                    ErrorKind::shape,
                    "self_attention.key: linear: inner sizes differ: x [1, 2, 3] x weight [4, 4] (3 vs 4)");
}

}  // namespace
}  // namespace tape::nn
