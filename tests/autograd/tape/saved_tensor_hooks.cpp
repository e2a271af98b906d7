#include "autograd/tape/saved_tensor_hooks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/checkpoint.h"
#include "tests/autograd/tape/sample_derivatives.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Stores values as vectors, separate from the tensors, and counts the calls.
struct Store {
  int packed = 0, unpacked = 0;
  SavedTensorHooks::Pack pack = [this](const Tensor& x) -> std::any {
    ++packed;
    EXPECT_FALSE(x.requires_grad());
    return std::pair(x.shape(), x.to(f64).to_vector<double>());
  };
  SavedTensorHooks::Unpack unpack = [this](const std::any& kept) {
    ++unpacked;
    const auto& [shape, values] = std::any_cast<const std::pair<Shape, std::vector<double>>&>(kept);
    Tensor x = empty(shape, f64);
    std::copy(values.begin(), values.end(), x.mutable_data<double>());
    return x;
  };
};

/// For every operation, first and second derivatives are bitwise equal with and without hooks.
TEST(SavedTensorHooks, DoNotChangeGradients) {
  for (const Op* op : registered_ops())
    for (const OpSample& sample : op->samples()) {
      SCOPED_TRACE(std::string(op->name()) + ": " + sample.label);
      const auto derivatives = [&] {
        return sample_derivatives(sample, [](const Tensor& y) { return sum(square(y)); });
      };
      const Tensors wanted = derivatives();
      Store store;
      const SavedTensorHooks hooks(store.pack, store.unpack);
      expect_same_derivatives(derivatives(), wanted);
    }
}

TEST(SavedTensorHooks, DoNotPackParametersAndIntegers) {
  Store store;
  const SavedTensorHooks hooks(store.pack, store.unpack);
  const Tensor table = sample_normal({4, 3}).requires_grad_(), ids = tensor({2, 0}, i64);
  sum(embedding(table, ids)).backward();
  EXPECT_EQ(store.packed, 0);
  const Tensor x = sample_normal({3, 3}), w = sample_normal({3, 3}, 2).requires_grad_();
  sum(matmul(x, w)).backward();
  EXPECT_EQ(store.packed, 1) << "expected only x";
  EXPECT_EQ(store.unpacked, 1);
}

TEST(SavedTensorHooks, PackAValueOnceForAllOperationsThatSaveIt) {
  Store store;
  const SavedTensorHooks hooks(store.pack, store.unpack);
  Tensor x = exp(sample_normal({3, 3}).requires_grad_());  // saved by exp itself
  const Tensor w = sample_normal({3, 3}, 2).requires_grad_();
  const Tensor loss = sum(matmul(x, w)) + sum(matmul(w, x)) + sum(sin(x));
  EXPECT_EQ(store.packed, 1);
  loss.backward();
  EXPECT_EQ(store.unpacked, 4);
  // Another value at the same address.
  const Tensor y = exp(w);
  x = y * 1.0;
  sum(sin(x)).backward({.retain_graph = true});
  {
    const NoGrad no_grad;
    x.add_(ones({3, 3}, f64));
  }
  const int before = store.packed;
  sum(sin(x)).backward();
  EXPECT_EQ(store.packed, before + 1);
}

/// A scope around a whole training run must forget freed values and not confuse them with new ones at their address.
TEST(SavedTensorHooks, StayCorrectOverManySteps) {
  Store store;
  const SavedTensorHooks hooks(store.pack, store.unpack);
  Tensor w = scalar(0.5, f64).requires_grad_();
  for (int step = 0; step < 3000; ++step) {
    const double at = 0.001 * step;
    const Tensor y = exp(w * at);
    ASSERT_DOUBLE_EQ(grad({y}, {w})[0].item(), at * std::exp(0.5 * at));
  }
  EXPECT_EQ(store.packed, 3000);
}

TEST(SavedTensorHooks, FreeTheMemoryOfPackedTensors) {
  const Tensor w = sample_normal({64, 64}).requires_grad_();
  const auto held = [&](bool packing) {
    Store store;
    const int64_t before = memory_stats().live_bytes;
    std::optional<SavedTensorHooks> hooks;
    if (packing) hooks.emplace(store.pack, store.unpack);
    Tensor h = w;
    for (int i = 0; i < 10; ++i) h = exp(sin(h) * 0.1);
    const Tensor loss = sum(h);
    h = Tensor();
    return memory_stats().live_bytes - before;
  };
  const int64_t bytes = w.numel() * 8;
  EXPECT_GE(held(false), 10 * bytes);
  EXPECT_LT(held(true), 2 * bytes);
}

TEST(SavedTensorHooks, ApplyAtRecordingTimeAndInnermostFirst) {
  Store outer, inner;
  const Tensor x = scalar(2, f64).requires_grad_();
  Tensor loss;
  {
    const SavedTensorHooks hooks(outer.pack, outer.unpack);
    Tensor y = exp(x);
    {
      const SavedTensorHooks nested(inner.pack, inner.unpack);
      y = exp(y);
    }
    loss = exp(y);
  }
  EXPECT_EQ(outer.packed, 2);
  EXPECT_EQ(inner.packed, 1);
  const Tensor after = exp(loss * 0.0);
  EXPECT_EQ(outer.packed + inner.packed, 3);
  loss.backward();
  EXPECT_EQ(outer.unpacked, 2);
  EXPECT_EQ(inner.unpacked, 1);
}

TEST(SavedTensorHooks, WorkWithCheckpoints) {
  const Tensor w = sample_normal({3, 3}).requires_grad_();
  const auto gradient = [&] {
    const Tensor y = checkpoint([](const Tensors& in) { return sin(exp(in[0])); }, {w * 0.5});
    return grad({sum(y)}, {w})[0];
  };
  const Tensor wanted = gradient();
  Store store;
  const SavedTensorHooks hooks(store.pack, store.unpack);
  EXPECT_TRUE(tensors_equal(gradient(), wanted));
  EXPECT_GT(store.packed, 0);
}

TEST(SavedTensorHooks, PropagateExceptions) {
  const Tensor x = scalar(2, f64).requires_grad_();
  {
    const SavedTensorHooks hooks([](const Tensor&) -> std::any { throw std::runtime_error("full"); },
                                 [](const std::any&) { return Tensor(); });
    EXPECT_THROW(exp(x), std::runtime_error);
  }
  EXPECT_NEAR(exp(x).item(), 7.389, 1e-3);
  const auto unpacking = [&](const Tensor& what) {
    const SavedTensorHooks hooks([](const Tensor&) { return std::any(); }, [what](const std::any&) { return what; });
    return exp(x);
  };
  EXPECT_TAPE_ERROR(unpacking(Tensor()).backward(), ErrorKind::shape,
                    "backward of 'exp': it saved f64 [], the hook unpacked nothing");
  EXPECT_TAPE_ERROR(unpacking(ones({2}, f64)).backward(), ErrorKind::shape,
                    "backward of 'exp': it saved f64 [], the hook unpacked f64 [2]");
  EXPECT_TAPE_ERROR(unpacking(ones({})).backward(), ErrorKind::shape,
                    "backward of 'exp': it saved f64 [], the hook unpacked f32 []");
}

}  // namespace
}  // namespace tape
