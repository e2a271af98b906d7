#include "autograd/transforms/vmap.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/ops/linalg.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/jacobian.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using One = std::function<Tensor(const Tensors&)>;
using Many = std::function<Tensors(const Tensors&)>;

/// f(sample) for each sample, stacked.
Tensor one_by_one(const One& f, const Tensors& inputs, const std::vector<std::optional<int64_t>>& axes) {
  Tensors parts;
  int64_t samples = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (axes[i]) samples = inputs[i].size(*axes[i]);
  for (int64_t b = 0; b < samples; ++b) {
    Tensors one;
    for (size_t i = 0; i < inputs.size(); ++i) one.push_back(axes[i] ? select(inputs[i], *axes[i], b) : inputs[i]);
    parts.push_back(f(one));
  }
  return stack(parts, 0);
}

void expect_as_one_by_one(const One& f, const Tensors& inputs, const std::vector<std::optional<int64_t>>& axes) {
  EXPECT_TRUE(tensors_near(vmap(f, axes)(inputs), one_by_one(f, inputs, axes), 1e-12));
}

TEST(Vmap, IsTheFunctionSampleBySample) {
  const One scaled = [](const Tensors& in) { return softmax(in[0] * in[1] + 1, -1); };
  expect_as_one_by_one(scaled, {sample_normal({5, 3}, 1), sample_normal({3}, 2)}, {0, std::nullopt});
  expect_as_one_by_one(scaled, {sample_normal({3, 5}, 1), sample_normal({5, 3}, 2)}, {1, 0});
  expect_as_one_by_one(scaled, {sample_normal({3, 5}, 1), sample_normal({5, 3}, 2)}, {-1, 0});
  // A sample of one has rank 1 and of the other rank 2: alone they broadcast from the right.
  expect_as_one_by_one(scaled, {sample_normal({5, 3}, 1), sample_normal({5, 2, 3}, 2)}, {0, 0});
  expect_as_one_by_one(scaled, {sample_normal({5}, 1), sample_normal({5, 2, 3}, 2)}, {0, 0});
  expect_as_one_by_one([](const Tensors& in) { return sum(square(matmul(in[0], in[1])), -1); },
                       {sample_normal({4, 2, 3}, 1), sample_normal({3, 2}, 2)}, {0, std::nullopt});
  expect_as_one_by_one([](const Tensors& in) { return linalg::det(in[0]); }, {sample_normal({4, 3, 3}, 1)}, {0});
  expect_as_one_by_one([](const Tensors& in) { return in[0] + in[1]; },
                       {sample_normal({1, 3}, 1), sample_normal({1}, 2)}, {0, 0});
}

TEST(Vmap, HasSeveralOutputsAndOtherDtypes) {
  const Many f = [](const Tensors& in) { return Tensors{exp(in[0]), gt(in[0], 0.0), in[1] * 2}; };
  const Tensor x = sample_normal({4, 2});
  const Tensors y = vmap(f)({x, arange(4)});
  ASSERT_EQ(y.size(), 3u);
  EXPECT_TRUE(tensors_equal(y[0], exp(x)));
  EXPECT_TRUE(tensors_equal(y[1], gt(x, 0.0)));
  EXPECT_TRUE(tensors_equal(y[2], arange(4) * 2));
}

TEST(Vmap, IsRecordedAndComposed) {
  const One f = [](const Tensors& in) { return sum(sin(in[0]), -1); };
  Tensor x = sample_normal({4, 3}).requires_grad_();
  sum(vmap(f)({x})).backward();
  EXPECT_TRUE(tensors_near(x.grad(), cos(x.detach()), 1e-15));
  const Tensor j = jacobian(vmap(f), {x.detach()})[0];
  EXPECT_EQ(j.shape(), Shape({4, 4, 3}));
  const One twice = vmap(vmap(One([](const Tensors& in) { return in[0] * in[1]; })));
  EXPECT_TRUE(tensors_equal(twice({x.detach(), x.detach()}), square(x.detach())));
}

TEST(Vmap, NamesWhatDoesSomethingElseWithAllSamples) {
  const Tensor x = sample_normal({4, 3});
  const auto of = [&](One f) { return vmap(std::move(f))({x}); };
  EXPECT_TAPE_ERROR(of([](const Tensors& in) { return exp(cumsum(in[0], 0)); }), ErrorKind::graph,
                    "vmap: 'cumsum' on 4 samples at once gives something else than on each (output 0: [4, 3], sample 0 "
                    "alone [3]); call the function sample by sample");
  EXPECT_TAPE_ERROR(of([](const Tensors& in) { return sum(in[0]) * 2; }), ErrorKind::graph,
                    "vmap: 'sum' on 4 samples at once gives something else than on each (output 0: [], sample 0 alone "
                    "[]); call the function sample by sample");
  EXPECT_TAPE_ERROR(of([](const Tensors& in) {
                      return reshape(exp(in[0]), {3, 1});
                    }),
                    ErrorKind::graph,
                    "vmap: 'reshape' on 4 samples at once fails (reshape: sizes differ: [4, 3] to [3, 1] (12 vs 3 "
                    "elements)); call the function sample by sample");
  EXPECT_TAPE_ERROR(of([](const Tensors& in) { return in[0] * static_cast<double>(in[0].size(0)); }), ErrorKind::graph,
                    "vmap: 'affine' on 4 samples at once gives something else than on each (output 0: [4, 3], sample 0 "
                    "alone [3]); call the function sample by sample");
}

TEST(Vmap, RefusesInputsThatDoNotFit) {
  const One f = [](const Tensors& in) { return in[0] + in[1]; };
  EXPECT_TAPE_ERROR(vmap(f)({ones({4}), ones({3})}), ErrorKind::shape,
                    "vmap: input 1 has 3 samples along axis 0, the inputs before have 4");
  EXPECT_TAPE_ERROR(vmap(f, {1, 0})({ones({4}), ones({3})}), ErrorKind::shape,
                    "vmap: input 0 is [4], it has no axis 1");
  EXPECT_TAPE_ERROR(vmap(f, {0})({ones({4}), ones({3})}), ErrorKind::config, "vmap: 1 in_axes for 2 inputs");
  EXPECT_TAPE_ERROR(vmap(f)({ones({0, 2}), ones({0, 2})}), ErrorKind::shape, "vmap: no input has samples");
  EXPECT_TAPE_ERROR(vmap(f, {std::nullopt, std::nullopt})({ones({2}), ones({2})}), ErrorKind::shape,
                    "vmap: no input has samples");
  EXPECT_TAPE_ERROR(vmap(One([](const Tensors&) { return Tensor(); }))({ones({2})}), ErrorKind::graph,
                    "vmap: output 0 of the function is undefined");
}

}  // namespace
}  // namespace tape
