#include "train/distributed/distributed.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "nn/linear.h"
#include "nn/module/hook_scope.h"
#include "nn/norm/batch_norm.h"
#include "optim/adam.h"
#include "optim/sgd.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"
#include "tests/train/one_thread.h"

namespace tape::train {
namespace {

/// Two layers, one parameter of which is never used.
struct SharedLayer : nn::Layer<SharedLayer> {
  nn::Child<nn::Linear> wide{this, "wide", 7, 11}, narrow{this, "narrow", 11, 7};
  nn::Parameter idle{this, "idle", ones({3})};
  Tensor forward(const Tensor& x) { return x + narrow(tanh(wide(x))); }
};

/// Layers, the first of which runs twice, with a parameter that the loss never uses and one in f64.
struct SharedNet : nn::Module {
  nn::Child<nn::Linear> first{this, "first", 5, 7}, second{this, "second", 7, 3};
  nn::Children<SharedLayer> layers{this, "layers", 3};
  nn::Parameter idle{this, "idle", ones({4})}, wide{this, "wide", randn({3}, f64)};
  Tensor loss(const Tensor& x) {
    Tensor h = tanh(first(x));
    for (const int64_t i : {0, 1, 0, 2}) h = layers[i](h);
    return mean(square(second(h) * wide.to(f32)));
  }
};

constexpr int64_t kRows = 12;

Tensor seeded_rows(int64_t step) {
  Generator draws(static_cast<uint64_t>(100 + step));
  return randn({kRows, 5}, f32, draws);
}

Tensor share(const Communicator& ranks, const Tensor& x) {
  return slice(x, 0, {.start = ranks.rank(), .step = ranks.size()});
}

struct Setting {
  DistributedOptions options = {};
  int64_t accumulate = 1;
  int64_t steps = 4;
};

/// Result of training: the parameters and the optimizer's state.
struct Trained {
  std::map<std::string, std::vector<double>> values;
  std::vector<double> norms;
};

std::map<std::string, std::vector<double>> values_of(const std::map<std::string, Tensor>& state) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& [name, tensor] : state) values[name] = tensor.detach().to(f64).to_vector<double>();
  return values;
}

Trained train_rank(Communicator& ranks, const Setting& setting, const std::string& state_file) {
  manual_seed(static_cast<uint64_t>(1 + ranks.rank()));  // all ranks must end up with rank 0's parameters
  SharedNet net;
  optim::Adam adam(net.parameters(), {.lr = 0.1, .weight_decay = 0.01});
  Distributed distributed(ranks, net, adam, setting.options);
  Trained trained;
  for (int64_t step = 0; step < setting.steps; ++step) {
    distributed.zero_grad();
    for (int64_t i = 0; i < setting.accumulate; ++i) {
      const Tensor x = share(ranks, seeded_rows(step * setting.accumulate + i));
      const bool last = i + 1 == setting.accumulate;
      distributed.backward(x.numel() > 0 ? net.loss(x) : Tensor(), static_cast<double>(x.size(0)),
                           last ? Distributed::Send::now : Distributed::Send::later);
    }
    distributed.finish();
    const double scale = 1.0 / static_cast<double>(kRows * setting.accumulate);
    trained.norms.push_back(scale * distributed.grad_norm());
    distributed.step({.gradient_scale = scale, .known_finite = true});
  }
  distributed.gather_parameters();
  distributed.check_equal("at the end");
  trained.values = values_of(net.state_dict());
  distributed.save_optimizer_state(ranks.is_root() ? state_file : "");
  barrier(ranks);
  for (const auto& [name, values] : values_of(load_safetensors(state_file).tensors))
    trained.values["adam " + name] = values;
  return trained;
}

Trained train_on(int size, const Setting& setting) {
  const TemporaryFolder folder;
  std::vector<Trained> all(static_cast<size_t>(size));
  run_ranks(size, [&](Communicator& ranks) {
    all[static_cast<size_t>(ranks.rank())] = train_rank(ranks, setting, folder / "optimizer.safetensors");
  });
  for (const Trained& other : all) {
    EXPECT_EQ(other.values, all[0].values) << "bitwise equal on all ranks";
    EXPECT_EQ(other.norms, all[0].norms);
  }
  return all[0];
}

void expect_near(const Trained& got, const Trained& wanted, double tolerance, const std::string& what) {
  ASSERT_EQ(got.values.size(), wanted.values.size()) << what;
  for (const auto& [name, values] : wanted.values) {
    ASSERT_TRUE(got.values.contains(name)) << what << ": " << name;
    ASSERT_EQ(got.values.at(name).size(), values.size()) << what << ": " << name;
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(got.values.at(name)[i], values[i], tolerance) << what << ": " << name << " " << i;
  }
  for (size_t i = 0; i < wanted.norms.size(); ++i) EXPECT_NEAR(got.norms[i], wanted.norms[i], tolerance) << what;
}

class DistributedTest : public testing::Test {
 protected:
  const OneThread one_thread_;
};

const std::vector<std::pair<std::string, Setting>>& settings() {
  static const std::vector<std::pair<std::string, Setting>> all{
      {"one bucket", {}},
      {"a bucket per parameter", {.options = {.bucket_bytes = 1}}},
      {"buckets of 100 bytes", {.options = {.bucket_bytes = 100}}},
      {"three batches per update", {.options = {.bucket_bytes = 100}, .accumulate = 3}},
      {"ZeRO 1", {.options = {.bucket_bytes = 100, .sharding = Sharding::optimizer}}},
      {"ZeRO 1, three batches", {.options = {.bucket_bytes = 100, .sharding = Sharding::optimizer}, .accumulate = 3}},
      {"ZeRO 2", {.options = {.bucket_bytes = 100, .sharding = Sharding::gradients}}},
      {"ZeRO 2, three batches", {.options = {.bucket_bytes = 100, .sharding = Sharding::gradients}, .accumulate = 3}},
      {"ZeRO 3", {.options = {.bucket_bytes = 100, .sharding = Sharding::parameters}}},
      {"ZeRO 3, three batches", {.options = {.bucket_bytes = 100, .sharding = Sharding::parameters}, .accumulate = 3}},
  };
  return all;
}

TEST_F(DistributedTest, MatchesASingleProcessWithinRounding) {
  for (const auto& [name, setting] : settings()) {
    const Trained alone = train_on(1, {.accumulate = setting.accumulate});
    for (const int size : {1, 2, 3, 4, 13})  // 13: one rank has no rows
      expect_near(train_on(size, setting), alone, 3e-4, fmt::format("{}, {} ranks", name, size));
  }
}

TEST_F(DistributedTest, IsBitwiseReproducibleForAllBucketSizesAndSharding) {
  const Setting whole, cut{.options = {.bucket_bytes = 60}};
  for (const int size : {2, 3, 4}) {
    const Trained once = train_on(size, whole);
    EXPECT_EQ(train_on(size, whole).values, once.values);
    EXPECT_EQ(train_on(size, cut).values, once.values) << "another bucket size";
    for (const Sharding sharding : {Sharding::optimizer, Sharding::parameters})
      EXPECT_EQ(train_on(size, {.options = {.bucket_bytes = 60, .sharding = sharding}}).values, once.values)
          << "sharded updates";
  }
}

TEST_F(DistributedTest, SendsBf16GradientsWithinTheirPrecision) {
  const Trained exact = train_on(2, {.steps = 1}), rounded = train_on(2, {.options = {.bf16 = true}, .steps = 1});
  ASSERT_EQ(rounded.norms.size(), 1U);
  EXPECT_NEAR(rounded.norms[0], exact.norms[0], 0.01 * exact.norms[0]);
  EXPECT_NE(rounded.norms[0], exact.norms[0]);
}

TEST_F(DistributedTest, LeavesParametersUnusedOnAllRanksWithoutAGradient) {
  run_ranks(2, [](Communicator& ranks) {
    manual_seed(1);
    SharedNet net;
    optim::Adam adam(net.parameters());
    Distributed distributed(ranks, net, adam);
    for (int step = 0; step < 2; ++step) {
      distributed.zero_grad();
      // Only rank 1 uses `idle`, in the second step.
      Tensor loss = net.loss(share(ranks, seeded_rows(step)));
      if (step == 1 && ranks.rank() == 1) loss = loss + sum(net.idle);
      distributed.backward(loss, 1, Distributed::Send::now);
      distributed.finish();
      if (step == 0) {
        EXPECT_FALSE(net.idle.grad().defined());
      } else {
        ASSERT_TRUE(net.idle.grad().defined());
        EXPECT_EQ(net.idle.grad().to_vector<float>(), std::vector<float>(4, 1.0F));
      }
    }
  });
}

TEST_F(DistributedTest, SendsTheFirstBucketsBeforeTheBackwardEnds) {
  run_ranks(2, [](Communicator& ranks) {
    manual_seed(1);
    SharedNet net;
    optim::Sgd sgd(net.parameters(), {.lr = 0.1});
    Distributed distributed(ranks, net, sgd, {.bucket_bytes = 1});
    int64_t sent_early = 0;
    for (int step = 0; step < 2; ++step) {
      distributed.zero_grad();
      const Tensor loss = net.loss(share(ranks, seeded_rows(step)));
      const int64_t before = distributed.stats().sent_bytes;
      // The last leaf of the backward, in the first layer.
      const int64_t hook = net.first->weight.register_hook([&](const Tensor&) -> Tensor {
        sent_early = distributed.stats().sent_bytes - before;
        return {};
      });
      distributed.backward(loss, 1, Distributed::Send::now);
      distributed.finish();
      net.first->weight.remove_hook(hook);
      if (step == 0) {
        EXPECT_EQ(sent_early, 0) << "the order is still unknown";
      } else {
        EXPECT_GT(sent_early, 0);
      }
    }
    EXPECT_EQ(distributed.stats().exchanges, 2);
    EXPECT_GE(distributed.stats().in_flight, distributed.stats().waited);
  });
}

TEST_F(DistributedTest, RefusesDifferentModelsAndOptimizers) {
  run_ranks(2, [](Communicator& ranks) {
    nn::Linear layer(3, ranks.rank() == 1 ? 5 : 4);
    optim::Sgd sgd(layer.parameters(), {.lr = 0.1});
    EXPECT_TAPE_ERROR(Distributed(ranks, layer, sgd), ErrorKind::config,
                      "the model: rank 1 has bias f32 [5], rank 0 has bias f32 [4]");
    nn::Linear same(3, 4);
    optim::Sgd part(ranks.rank() == 1 ? Tensors{same.weight} : same.parameters(), {.lr = 0.1});
    EXPECT_TAPE_ERROR(Distributed(ranks, same, part), ErrorKind::config,
                      "the optimizer: rank 1 has 1 parameters, rank 0 has 2 parameters");
    optim::Sgd whole(same.parameters(), {.lr = 0.1});
    EXPECT_TAPE_ERROR(Distributed(ranks, same, whole, {.bucket_bytes = 0}), ErrorKind::config,
                      "Distributed: bucket_bytes must be at least 1, got 0");
    EXPECT_TAPE_ERROR(Distributed(ranks, same, whole, {.sharding = Sharding::parameters}), ErrorKind::config,
                      "Distributed: Sharding::parameters gathers parameters layer by layer, but Linear has no list of "
                      "layers (nn::Children) with trainable parameters");
  });
}

int64_t whole_layers(const SharedNet& net) {
  int64_t whole = 0;
  for (int64_t i = 0; i < net.layers.size(); ++i) whole += net.layers[i]->wide->weight.numel() > 0;
  return whole;
}

TEST_F(DistributedTest, GathersOnlyTheCurrentAndTheNextLayer) {
  run_ranks(2, [](Communicator& ranks) {
    manual_seed(1);
    SharedNet net;
    optim::Sgd sgd(net.parameters(), {.lr = 0.1});
    Distributed distributed(ranks, net, sgd, {.sharding = Sharding::parameters});
    std::vector<int64_t> seen;
    nn::HookScope hooks;
    for (int64_t i = 0; i < net.layers.size(); ++i) {
      hooks.forward_pre(*net.layers[i]->wide, [&seen, &net](nn::Module&, const Tensors&) {
        seen.push_back(whole_layers(net));
        return Tensors();
      });
      net.layers[i]->narrow->weight.register_hook([&seen, &net](const Tensor&) -> Tensor {
        seen.push_back(whole_layers(net));
        return {};
      });
    }
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(whole_layers(net), 0);
      distributed.zero_grad();
      distributed.backward(net.loss(share(ranks, seeded_rows(step))), 1, Distributed::Send::now);
      distributed.finish();
      distributed.step({});
    }
    EXPECT_THAT(seen, testing::SizeIs(3 * (4 + 3)));
    EXPECT_THAT(seen, testing::Each(testing::Le(2))) << "a layer that is needed next stays";
    EXPECT_EQ(std::vector<int64_t>(seen.begin(), seen.begin() + 7), std::vector<int64_t>(7, 1))
        << "order still unknown";
  });
}

TEST_F(DistributedTest, GathersShardedParametersTemporarily) {
  run_ranks(3, [](Communicator& ranks) {
    manual_seed(1);
    SharedNet net;
    const std::vector<float> weight = net.layers[1]->wide->weight.to_vector<float>();
    optim::Sgd sgd(net.parameters(), {.lr = 0.1});
    Distributed distributed(ranks, net, sgd, {.sharding = Sharding::parameters});
    EXPECT_EQ(net.first->weight.shape(), Shape({7, 5})) << "in no layer";
    EXPECT_EQ(net.layers[1]->wide->weight.shape(), Shape({0}));
    EXPECT_THROW(linear(ones({2, 7}), net.layers[1]->wide->weight, Tensor()), Error) << "outside of its layer";
    {
      const GatheredParameters whole(&distributed);
      EXPECT_EQ(net.layers[1]->wide->weight.to_vector<float>(), weight);
      const NoGrad no_grad;
      net.layers[1]->wide->weight.fill_(3);
    }
    EXPECT_EQ(whole_layers(net), 0);
    distributed.gather_parameters();
    EXPECT_THAT(net.layers[1]->wide->weight.to_vector<float>(), testing::Each(3)) << "written values are preserved";
  });
}

TEST_F(DistributedTest, DetectsRanksWithDifferentParameters) {
  run_ranks(3, [](Communicator& ranks) {
    manual_seed(1);
    nn::Linear layer(3, 4);
    optim::Sgd sgd(layer.parameters(), {.lr = 0.1});
    Distributed distributed(ranks, layer, sgd);
    EXPECT_NO_THROW(distributed.check_equal("now"));
    const NoGrad no_grad;
    if (ranks.rank() == 2) layer.weight.mutable_data<float>()[5] += 1e-7F;
    try {
      distributed.check_equal("step 5");
      ADD_FAILURE() << "the difference was not detected";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::graph);
      EXPECT_THAT(error.what(), testing::StartsWith("step 5: parameters differ between rank 2 and rank 0 (XXH3 "));
    }
  });
}

struct NormedNet : nn::Module {
  nn::Children<nn::BatchNorm1d> layers{this, "layers", 1, 5};
  nn::Child<nn::Linear> last{this, "last", 5, 3};
  Tensor loss(const Tensor& x) { return mean(square(last(layers[0](x)))); }
};

/// As DistributedDataParallel of PyTorch by default.
TEST_F(DistributedTest, AllRanksHaveTheRunningStatisticsOfRank0) {
  for (const Sharding sharding : {Sharding::none, Sharding::gradients, Sharding::parameters})
    run_ranks(3, [sharding](Communicator& ranks) {
      manual_seed(1);
      NormedNet net, alone;
      optim::Sgd sgd(net.parameters(), {.lr = 0.1});
      Distributed distributed(ranks, net, sgd, {.sharding = sharding});
      for (int64_t step = 0; step < 2; ++step) {
        const Tensor rows = seeded_rows(step);
        distributed.backward(net.loss(share(ranks, rows)), 1, Distributed::Send::now);
        distributed.finish();
        distributed.step({});
        alone.loss(slice(rows, 0, {.start = 0, .step = ranks.size()}));
      }
      EXPECT_NO_THROW(distributed.check_equal("step 2"));
      EXPECT_EQ(net.layers[0]->running_mean.to_vector<float>(), alone.layers[0]->running_mean.to_vector<float>());
      EXPECT_EQ(net.layers[0]->running_var.to_vector<float>(), alone.layers[0]->running_var.to_vector<float>());
      EXPECT_EQ(net.layers[0]->num_batches_tracked.item(), 2);
    });
}

TEST_F(DistributedTest, ANonFiniteNormIsAnErrorOnAllRanks) {
  for (const Sharding sharding : {Sharding::none, Sharding::gradients, Sharding::parameters})
    run_ranks(2, [sharding](Communicator& ranks) {
      manual_seed(1);
      SharedNet net;
      optim::Sgd sgd(net.parameters(), {.lr = 0.1});
      Distributed distributed(ranks, net, sgd, {.sharding = sharding});
      const double weight = ranks.rank() == 1 ? std::numeric_limits<double>::quiet_NaN() : 1;
      distributed.backward(net.loss(seeded_rows(0)), weight, Distributed::Send::now);
      distributed.finish();
      EXPECT_THROW(distributed.grad_norm(), Error);
    });
}

}  // namespace
}  // namespace tape::train
