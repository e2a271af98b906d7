// Checks of values on a GPU: the host does not wait for them, and learns of a failed one when it waits.
#include "autograd/cuda/late_checks.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/distributions.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/rounding.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/scatter.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/loss/ctc_loss.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/loss/probability_loss.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "optim/adam.h"
#include "optim/step_report.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using cuda_device::TestDevice;
using cuda_device::waits;

Tensor ids_on_device(const std::vector<int64_t>& values) { return from_vector(values).to(cuda); }

TEST(LateChecks, ThrowWhenTheHostWaits) {
  const TestDevice device;
  const Tensor weight = ones({5, 3}, {f32, cuda});
  const int64_t before = waits();
  embedding(weight, ids_on_device({0, 4, 5, 1}));
  embedding(weight, ids_on_device({-1}));
  EXPECT_EQ(waits(), before);
  EXPECT_TAPE_ERROR(synchronize(cuda), ErrorKind::index, "embedding: id 5 at position 2 is outside [0, 5)");
  EXPECT_EQ(sum(embedding(weight, ids_on_device({0, 4}))).item(), 6);
  const Tensor wrong = embedding(weight, ids_on_device({7}));
  EXPECT_TAPE_ERROR(wrong.to(cpu), ErrorKind::index, "embedding: id 7 at position 0 is outside [0, 5)");
}

TEST(LateChecks, HaveTheMessagesOfTheCpu) {
  const TestDevice device;
  const auto expect_same = [](const std::function<Tensor(Device)>& call) {
    std::string here;
    try {
      call(cpu);
    } catch (const Error& error) {
      here = error.what();
    }
    ASSERT_NE(here, "");
    try {
      const Tensor result = call(cuda);
      synchronize(cuda);
      ADD_FAILURE() << "no error: " << here;
    } catch (const Error& error) {
      EXPECT_EQ(here, error.what());
    }
  };
  const auto on = [](const Tensor& x, Device device_of) { return x.to(device_of); };
  expect_same([&](Device d) { return gather(on(ones({2, 3}), d), 1, on(tensor({{0, -4}, {0, 0}}, i64), d)); });
  expect_same([&](Device d) { return index_select(on(ones({0, 3}), d), 0, on(tensor({0}, i64), d)); });
  expect_same([&](Device d) { return one_hot(on(tensor({1, 9}, i64), d), 4); });
  expect_same([&](Device d) { return cross_entropy(on(ones({2, 3}), d), on(tensor({1, 3}, i64), d)); });
  expect_same([&](Device d) { return cast(on(tensor({1, 2, NAN}), d), i64); });
  expect_same([&](Device d) { return cast(on(tensor({1, 300}), d), u8); });
  expect_same([&](Device d) { return remainder(on(tensor({7, 8}, i64), d), on(tensor({2, 0}, i64), d)); });
  expect_same([&](Device d) { return bce_loss(on(tensor({0.5, 1.5}), d), on(tensor({0, 1}), d)); });
  const auto ctc = [&](Device d, const Tensor& targets, const std::vector<int64_t>& target_lengths) {
    return ctc_loss(on(zeros({5, 2, 4}), d), on(targets, d), on(tensor({5, 5}, i64), d),
                    on(from_vector(target_lengths), d));
  };
  expect_same([&](Device d) { return ctc(d, tensor({{1, 2}, {3, 9}}, i64), {2, 3}); });
  expect_same([&](Device d) { return ctc(d, tensor({{1, 2}, {3, 9}}, i64), {2, 2}); });
  expect_same([&](Device d) { return ctc(d, tensor({{1, 2}, {3, 0}}, i64), {2, 2}); });
  expect_same([&](Device d) { return ctc(d, tensor({1, 2, 3}, i64), {2, -1}); });
  expect_same([&](Device d) { return ctc(d, tensor({1, 2, 3}, i64), {2, 2}); });
  expect_same([&](Device d) {
    Generator stream(1);
    return bernoulli(on(tensor({0.5, 0.25, -0.5}), d), stream);
  });
}

TEST(LateChecks, ThrowInTheOperationIfLaunchesWait) {
  setenv("TAPE_CUDA_BLOCKING", "1", 1);
  const TestDevice device;
  const Tensor weight = ones({5, 3}, {f32, cuda});
  EXPECT_TAPE_ERROR(embedding(weight, ids_on_device({8})), ErrorKind::index,
                    "embedding: id 8 at position 0 is outside [0, 5)");
  unsetenv("TAPE_CUDA_BLOCKING");
}

TEST(LateChecks, AreKeptWithoutLimit) {
  const TestDevice device;
  const Tensor weight = ones({2, 1}, {f32, cuda}), ids = ids_on_device({1});
  for (int i = 0; i < 5000; ++i) embedding(weight, ids);
  embedding(weight, ids_on_device({2}));
  EXPECT_TAPE_ERROR(synchronize(cuda), ErrorKind::index, "embedding: id 2 at position 0 is outside [0, 2)");
}

TEST(LateChecks, StopUpdatesAfterAFailedOne) {
  const TestDevice device;
  Tensor weight = ones({5, 3}, {f32, cuda}).requires_grad_(true);
  optim::Adam adam({weight});
  const auto step = [&](const std::vector<int64_t>& ids) {
    adam.zero_grad();
    sum(embedding(weight, ids_on_device(ids))).backward();
    adam.step();
  };
  const int64_t before = waits();
  step({0, 9});
  step({1});
  EXPECT_EQ(waits(), before);
  EXPECT_TAPE_ERROR(synchronize(cuda), ErrorKind::index, "embedding: id 9 at position 1 is outside [0, 5)");
  EXPECT_TRUE(tensors_equal(weight.detach().to(cpu), ones({5, 3})));
  step({1});
  EXPECT_FALSE(tensors_equal(weight.detach().to(cpu), ones({5, 3})));
}

TEST(LateChecks, NameTheParameterWhoseGradientIsNotFinite) {
  const TestDevice device;
  Tensor first = ones({2}, {f32, cuda}).requires_grad_(true), second = ones({3}, {f32, cuda}).requires_grad_(true);
  optim::Adam adam({first, second});
  (sum(first) + sum(second * NAN)).backward();
  const int64_t before = waits();
  adam.step();
  EXPECT_EQ(waits(), before);
  EXPECT_TAPE_ERROR(synchronize(cuda), ErrorKind::numeric,
                    "Adam: the gradient of parameter 1 [3] contains NaN or infinity; nothing was changed");
  EXPECT_TRUE(tensors_equal(first.detach().to(cpu), ones({2})));
}

/// A check that fails, whose kernel is launched after before(); meanwhile, other threads may do anything.
template <class Before>
void fail_after(const std::string& message, const Before& before) {
  const Tensor flag = ones({1}, {DType::boolean, cuda});
  run_kernels("test", cuda, [&](const KernelCall& at) {
    at.check({ErrorKind::numeric, [message](int64_t, int64_t) { return message; }},
             [&](int64_t number, kernels::Finding* finding) {
               before();
               kernels::take(at).check_flags(1, at.in<bool>(flag), number, finding);
             });
  });
}
template <class Body>
void in_another_thread(const Body& body) {
  std::thread(body).join();
}

TEST(LateChecks, AreKeptByAThreadThatWaitsBeforeTheirLaunch) {
  const TestDevice device;
  fail_after("late", [] { in_another_thread([] { synchronize(cuda); }); });
  EXPECT_TAPE_ERROR(synchronize(cuda), ErrorKind::numeric, "late");
  synchronize(cuda);
}

TEST(LateChecks, AreKeptByAStepReportOfAnotherThreadBeforeTheirLaunch) {
  const TestDevice device;
  const Tensor weight = ones({2}, {f32, cuda}).requires_grad_();
  sum(weight).backward();
  fail_after("late", [&] {
    in_another_thread([&] {
      optim::StepReport report({weight}, {ones({}, {f32, cuda})}, {});
      report.send();
      EXPECT_TRUE(report.receive().is_finite());
    });
  });
  EXPECT_TAPE_ERROR(synchronize(cuda), ErrorKind::numeric, "late");
}

TEST(LateChecks, NeedNoLaunch) {
  const TestDevice device;
  const Tensor weight = ones({2, 1}, {f32, cuda}), ids = ids_on_device({1});
  EXPECT_THROW(fail_after("never", [] { throw std::runtime_error("no launch"); }), std::runtime_error);
  synchronize(cuda);
  for (int i = 0; i < 5000; ++i) embedding(weight, ids);
  fail_after("late", [] {});
  EXPECT_TAPE_ERROR(synchronize(cuda), ErrorKind::numeric, "late");
}

TEST(LateChecks, HaveTheirMessagesIfThreadsFailAndWaitAtTheSameTime) {
  const TestDevice device;
  std::atomic<int> errors = 0;
  const auto fail_and_wait = [&errors](const std::string& message) {
    for (int i = 0; i < 300; ++i) try {
        fail_after(message, [] {});
        synchronize(cuda);
      } catch (const std::exception& error) {
        ++errors;
        EXPECT_TRUE(std::string(error.what()) == "one" || std::string(error.what()) == "two") << error.what();
      }
  };
  std::thread other([&] { fail_and_wait("one"); });
  fail_and_wait("two");
  other.join();
  synchronize(cuda);
  EXPECT_GT(errors, 100);
}

}  // namespace
}  // namespace tape
