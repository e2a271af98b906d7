// Links component core only, and includes nothing else: also built where other components are not.
#include <tapeformer/core.h>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tape {
namespace {

struct Net : nn::Layer<Net> {
  nn::Child<nn::Linear> up{this, "up", 4, 8}, down{this, "down", 8, 3};
  nn::Child<nn::LayerNorm> norm{this, "norm", 8};
  Tensor forward(const Tensor& x) { return down(gelu(norm(up(x)))); }
};

class Core : public testing::Test {
 protected:
  void SetUp() override {
    manual_seed(1);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  // Each test is a process of its own, and ctest runs several at once.
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("tapeformer_core_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

Tensor cube_with_wrong_gradient(const Tensor& x) {
  return custom(
      "cube", {x}, [](const Tensors& in) { return in[0] * in[0] * in[0]; },
      [](const BackwardContext& c) -> Tensors { return {c.grad() * square(c.saved(0)) * 2}; });
}

TEST_F(Core, ChecksGradients) {
  Net net;
  EXPECT_TRUE(gradcheck(net, {randn({2, 4}, f64)}).ok());
  nn::Encoder encoder(1, {.d_model = 8, .heads = 2, .d_ff = 16, .dropout = 0});
  EXPECT_TRUE(gradcheck(encoder, {randn({1, 3, 8}, f64)}).ok());
}

TEST_F(Core, FindsAWrongGradientAndReportsItAsJson) {
  const GradcheckReport report =
      gradcheck([](const Tensors& in) { return cube_with_wrong_gradient(in[0]); }, {randn({3}, f64)});
  ASSERT_EQ(report.guilty.size(), 1u);
  EXPECT_EQ(report.guilty[0].operation, "cube");
  EXPECT_NE(to_json(report).find("\"operation\": \"cube\""), std::string::npos) << to_json(report);
}

TEST_F(Core, LowersTheLossInTraining) {
  Net net;
  optim::Adam adam(net.parameters(), {.lr = 0.05});
  const Tensor x = randn({16, 4}), target = randint(0, 3, {16});
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    const Tensor loss = cross_entropy(net(x), target);
    last = loss.item();
    if (step == 0) first = last;
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  EXPECT_TRUE(std::isfinite(last));
  EXPECT_LT(last, first / 4);
}

TEST_F(Core, SavesAndLoadsModulesAndArrays) {
  Net net, other;
  net.save(file("net.safetensors"));
  EXPECT_TRUE(other.load(file("net.safetensors")).missing.empty());
  const Tensor x = randn({2, 4});
  EXPECT_EQ(sum(abs(net(x) - other(x))).item(), 0);
  save_npy(file("x.npy"), x);
  EXPECT_EQ(sum(abs(load_npy(file("x.npy")) - x)).item(), 0);
}

TEST_F(Core, NamesOperationAndShapesInErrors) {
  try {
    matmul(zeros({2, 3}), zeros({4, 5}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "matmul: inner sizes differ: a [2, 3] x b [4, 5] (3 vs 4)");
  }
}

}  // namespace
}  // namespace tape
