// Module calls: paths, hooks, and the path that is added to an error.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/transformer/decoder.h"
#include "nn/transformer/encoder.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

/// Records the module path that it runs under.
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

TEST(Call, PassesInputsAndOutputsToHooks) {
  Outer model;
  std::vector<std::string> calls;
  Inner& inner = *model.layers[1];
  inner.register_forward_pre_hook([&](Module& module, const Tensors& in) {
    EXPECT_EQ(&module, &inner);
    calls.push_back(fmt::format("before {} {}", in[0].item(), in[1].item()));
    return Tensors();
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
  EXPECT_EQ(x.grad().item(), 5 + 2);  // through the results of the hooks
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
    return Tensors();
  });
  probe(ones({1}));
  probe(ones({1}));
  EXPECT_EQ(calls, 1);
}

TEST(Call, LetsPreHooksReplaceTheInputsInTurn) {
  Outer model;
  Inner& inner = *model.layers[0];
  inner.register_forward_pre_hook([](Module&, const Tensors& in) { return Tensors{in[0] * 3.0, in[1]}; });
  inner.register_forward_pre_hook([](Module&, const Tensors& in) { return Tensors{in[0] + in[1], in[1]}; });
  std::vector<double> seen;
  inner.register_forward_hook([&](Module&, const Tensors& in, const Tensor&) {
    seen = {in[0].item(), in[1].item()};
    return Tensor();
  });
  const Tensor a = full({1}, 2).requires_grad_(), b = full({1}, 5).requires_grad_();
  const Tensor replaced = model.layers[0](a, b);
  EXPECT_EQ(seen, (std::vector<double>{11, 5}));
  replaced.backward();
  Outer same;
  const Tensor x = full({1}, 11).requires_grad_(), y = full({1}, 5).requires_grad_();
  const Tensor wanted = same.layers[0](x, y);
  EXPECT_EQ(replaced.item(), wanted.item());
  wanted.backward();
  EXPECT_EQ(a.grad().item(), 3 * x.grad().item());
  EXPECT_EQ(b.grad().item(), x.grad().item() + y.grad().item());
}

TEST(Call, RefusesAPreHookThatChangesTheNumberOfInputs) {
  Probe probe;
  probe.register_forward_pre_hook([](Module&, const Tensors& in) { return Tensors{in[0], in[0]}; });
  EXPECT_TAPE_ERROR(probe(ones({1})), ErrorKind::graph,
                    "forward pre-hook of Probe \"\": returned 2 tensors for 1 inputs");
}

/// A layer's hooks see every path that a token takes through a decoder.
TEST(Call, RunsHooksForEveryMethodThatReplacesForward) {
  Decoder decoder(1, {.d_model = 4, .heads = 2, .d_ff = 4, .dropout = 0});
  auto& layer = decoder.layers[0];
  std::vector<std::string> calls;
  const auto watch = [&calls](Module& module, const char* name) {
    module.register_forward_pre_hook([&calls, name](Module&, const Tensors& in) {
      calls.push_back(fmt::format("{} takes {}", name, in.size()));
      return Tensors();
    });
    module.register_forward_hook([&calls, name](Module&, const Tensors&, const Tensor& out) {
      calls.push_back(fmt::format("{} gives {}", name, to_string(out.shape())));
      return out * 2.0;
    });
  };
  watch(*layer, "layer");
  watch(*layer->self_attention, "self");
  watch(*layer->cross_attention, "cross");
  const Tensor x = sample_normal({1, 1, 4}).to(f32), memory = sample_normal({1, 3, 4}, 2).to(f32);
  const Tensor whole = decoder(x, memory);
  const std::vector<std::string> of_forward = std::exchange(calls, {});
  EXPECT_EQ(of_forward, (std::vector<std::string>{"layer takes 2", "self takes 1", "self gives [1, 1, 4]",
                                                  "cross takes 3", "cross gives [1, 1, 4]", "layer gives [1, 1, 4]"}));
  DecoderCache cache = decoder.init_cache(memory);
  EXPECT_TRUE(tensors_near(decoder.forward_cached(x, cache), whole, 1e-6));
  EXPECT_EQ(calls, (std::vector<std::string>{"layer takes 1", "self takes 1", "self gives [1, 1, 4]", "cross takes 1",
                                             "cross gives [1, 1, 4]", "layer gives [1, 1, 4]"}));
  calls.clear();
  const AttentionResult result = layer->self_attention.call(&MultiHeadAttention::with_weights, x, x, x, Mask::causal());
  EXPECT_EQ(calls, (std::vector<std::string>{"self takes 3", "self gives [1, 1, 4]"}));
  EXPECT_TRUE(tensors_equal(result.output, layer->self_attention(x, Mask::causal())));
}

TEST(Call, AddsThePathToAnError) {
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

TEST(Call, AddsTheMethodsPathToAnError) {
  EncoderLayer layer({.d_model = 4, .heads = 2, .d_ff = 4});
  EXPECT_TAPE_ERROR(layer.self_attention.run([](auto& attention) {
    return attention.project(zeros({1, 2, 3}));
  }),
                    ErrorKind::shape,
                    "self_attention.key: linear: inner sizes differ: x [1, 2, 3] x weight [4, 4] (3 vs 4)");
}

/// y = sin(a b + c), with a parameter in between.
struct Gate : Layer<Gate> {
  Parameter scale{this, "scale", full({1}, 2)};
  Tensor forward(const Tensor& a, const Tensor& b, double shift) { return sin(a * b * scale + shift); }
};

struct Gates : Layer<Gates> {
  Children<Gate> gates{this, "gates", 2};
  Tensor forward(const Tensor& x) { return gates[1](gates[0](x, x, 0.5), exp(x), 0.25); }
};

std::vector<double> numbers(const Tensors& tensors) {
  std::vector<double> all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.defined() ? tensor.item() : -100);
  return all;
}

TEST(BackwardHooks, SeeTheGradientsOfEachCallWithoutChangingThem) {
  Gates model;
  const Tensor x = full({1}, 0.3).requires_grad_();
  model(x).backward();
  const double plain = x.grad().item(), plain_scale = model.gates[0]->scale.grad().item();
  model.zero_grad();
  Tensor(x).zero_grad();

  std::vector<std::string> order;
  std::map<std::string, std::vector<double>> in, out;
  for (int64_t i = 0; i < 2; ++i)
    model.gates[i]->register_backward_hook([&](Module& module, const Tensors& inputs, const Tensor& output) {
      order.push_back(module.name());
      in[module.name()] = numbers(inputs);
      out[module.name()] = numbers({output});
      return Tensors();
    });
  model(x).backward();
  EXPECT_EQ(x.grad().item(), plain);
  EXPECT_EQ(model.gates[0]->scale.grad().item(), plain_scale);
  EXPECT_EQ(order, (std::vector<std::string>{"gates.1", "gates.0"}));

  // The same by hand: y = sin(2 h e + 0.25), h = sin(2 x x + 0.5), e = e^x.
  const double v = 0.3, h = std::sin(2 * v * v + 0.5), e = std::exp(v), dy = std::cos(2 * h * e + 0.25);
  const double dh = std::cos(2 * v * v + 0.5);
  ASSERT_EQ(in["gates.1"].size(), 2u);
  EXPECT_NEAR(in["gates.1"][0], dy * 2 * e, 1e-5);
  EXPECT_NEAR(in["gates.1"][1], dy * 2 * h, 1e-5);
  EXPECT_EQ(out["gates.1"][0], 1);
  EXPECT_EQ(out["gates.0"][0], in["gates.1"][0]);
  // x was passed twice: one gradient per argument.
  ASSERT_EQ(in["gates.0"].size(), 2u);
  EXPECT_NEAR(in["gates.0"][0], dy * 2 * e * dh * 2 * v, 1e-5);
  EXPECT_EQ(in["gates.0"][0], in["gates.0"][1]);
}

TEST(BackwardHooks, CanReplaceTheInputGradients) {
  Gate gate;
  const Tensor a = full({1}, 0.3).requires_grad_(), b = full({1}, 0.7).requires_grad_();
  gate.register_backward_hook([](Module&, const Tensors& in, const Tensor&) {
    return Tensors{in[0] * 10.0, Tensor()};
  });
  const int64_t second = gate.register_backward_hook([](Module&, const Tensors& in, const Tensor&) {
    EXPECT_FALSE(in[1].defined());
    return Tensors{in[0] + 1.0, ones({1})};
  });
  gate(a, b, 0.0).backward();
  const double da = std::cos(2 * 0.3 * 0.7) * 2 * 0.7;
  EXPECT_NEAR(a.grad().item(), 10 * da + 1, 1e-5);
  EXPECT_EQ(b.grad().item(), 1);
  gate.remove_hook(second);
  gate.remove_hook(second);
  Tensor(a).zero_grad(), Tensor(b).zero_grad();
  gate(a, b, 0.0).backward();
  EXPECT_NEAR(a.grad().item(), 10 * da, 1e-5);
  EXPECT_FALSE(b.grad().defined());

  gate.register_backward_hook([](Module&, const Tensors&, const Tensor&) { return Tensors{ones({1})}; });
  EXPECT_TAPE_ERROR(gate(a, b, 0.0).backward(), ErrorKind::graph,
                    "backward hook of Gate \"\": returned 1 gradients for 2 inputs");
}

TEST(BackwardHooks, RunWhenNoInputNeedsGradients) {
  Gate gate;
  int calls = 0;
  const auto hook = [&](Module&, const Tensors& in, const Tensor& out) {
    ++calls;
    EXPECT_EQ(numbers(in), (std::vector<double>{-100, -100}));
    EXPECT_EQ(out.item(), 1);
    return Tensors();
  };
  int64_t handle = 0;
  handle = gate.register_backward_hook([&](Module& module, const Tensors& in, const Tensor& out) {
    module.remove_hook(handle);  // itself
    return hook(module, in, out);
  });
  gate(ones({1}), ones({1}), 0.0).backward();
  gate(ones({1}), ones({1}), 0.0).backward();
  EXPECT_EQ(calls, 1);
  gate.register_backward_hook(hook);
  const NoGrad no_grad;
  EXPECT_FALSE(gate(ones({1}), ones({1}), 0.0).requires_grad());
}

TEST(BackwardHooks, RunInsideATransformer) {
  models::Transformer model(
      {.src_vocab = 5, .tgt_vocab = 5, .d_model = 4, .layers = 2, .heads = 2, .d_ff = 6, .dropout = 0});
  const Tensor ids = tensor({{1, 2}, {3, 4}}, i64);
  std::vector<std::string> order;
  for (const auto& [name, module] : model.named_modules())
    if (module->type_name() == "EncoderLayer" || module->type_name() == "DecoderLayer")
      module->register_backward_hook([&order, name](Module&, const Tensors& in, const Tensor& out) {
        order.push_back(fmt::format("{} {} {}", name, to_string(in[0].shape()), to_string(out.shape())));
        return Tensors();
      });
  const auto gradients = [&] {
    model.zero_grad();
    sum(square(model(ids, ids))).backward();
    std::vector<float> all;
    for (const Tensor& parameter : model.parameters())
      for (float value : parameter.grad().to_vector<float>()) all.push_back(value);
    return all;
  };
  const std::vector<float> watched = gradients();
  EXPECT_EQ(order,
            (std::vector<std::string>{"decoder.layers.1 [2, 2, 4] [2, 2, 4]", "decoder.layers.0 [2, 2, 4] [2, 2, 4]",
                                      "encoder.layers.1 [2, 2, 4] [2, 2, 4]", "encoder.layers.0 [2, 2, 4] [2, 2, 4]"}));
  for (const auto& [name, module] : model.named_modules())
    for (int64_t handle = 0; handle < 3; ++handle) module->remove_hook(handle);
  const std::vector<float> plain = gradients();
  ASSERT_EQ(watched.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_NEAR(watched[i], plain[i], 1e-5 * std::max(1.0F, std::abs(plain[i])));
}

/// A layer without arguments.
struct Constant : Layer<Constant> {
  Parameter value{this, "value", full({2}, 3)};
  Tensor forward() { return value * 2.0; }
};

TEST(Call, WorksWithoutArguments) {
  Constant layer;
  EXPECT_EQ(layer().to_vector<float>(), (std::vector<float>{6, 6}));
  size_t seen = 9, gradients = 9;
  layer.register_forward_pre_hook([&seen](Module&, const Tensors& inputs) {
    seen = inputs.size();
    return Tensors();
  });
  layer.register_forward_hook([](Module&, const Tensors&, const Tensor& output) { return output + 1; });
  layer.register_backward_hook([&gradients](Module&, const Tensors& in, const Tensor&) {
    gradients = in.size();
    return Tensors();
  });
  const Tensor output = layer();
  EXPECT_EQ(output.to_vector<float>(), (std::vector<float>{7, 7}));
  EXPECT_EQ(seen, 0U);
  sum(output).backward();
  EXPECT_EQ(gradients, 0U);
  EXPECT_EQ(layer.value.grad().to_vector<float>(), (std::vector<float>{2, 2}));
}

}  // namespace
}  // namespace tape::nn
