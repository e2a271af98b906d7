// Checks every registered operation with its own samples: an operation added to autograd/ops is tested here
// automatically.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/gradcheck/registered.h"
#include "autograd/ops.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/op.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensors leaves_of(const OpSample& sample, DType dtype = f64) {
  Tensors leaves;
  for (const Tensor& input : sample.inputs) {
    leaves.push_back(input.detach().to(dtype).clone());
    if (is_floating(dtype)) leaves.back().requires_grad_();
  }
  return leaves;
}

/// The output, and the gradients of the inputs for a random gradient of the output.
Tensors output_and_gradients(const OpSample& sample, const Tensors& inputs) {
  const Tensor y = sample.call(inputs);
  const Tensor seed = sample_normal(y.shape(), 17).to(y.dtype());
  Tensors all = grad({y}, inputs, {.gradients = {seed}, .allow_unused = true});
  for (size_t i = 0; i < all.size(); ++i)
    if (!all[i].defined()) all[i] = zeros_like(inputs[i]);
  all.insert(all.begin(), y.detach());
  return all;
}

class Registry : public testing::TestWithParam<const Op*> {};

TEST_P(Registry, HasSamples) {
  const Op& op = *GetParam();
  const std::vector<OpSample> samples = op.samples();
  ASSERT_FALSE(samples.empty());
  std::set<std::string> labels;
  for (const OpSample& sample : samples) {
    EXPECT_TRUE(labels.insert(sample.label).second) << "two samples are called " << sample.label;
    ASSERT_FALSE(sample.inputs.empty()) << sample.label;
    for (const Tensor& input : sample.inputs) EXPECT_EQ(input.dtype(), f64) << sample.label;
  }
}

TEST_P(Registry, HasCorrectGradients) {
  for (const RegisteredSample& sample : check_of(*GetParam()).samples) {
    const GradcheckReport report = sample.check(Derivative::first, {});
    EXPECT_TRUE(gradients_match(report)) << sample.label;
    for (const GradcheckResult& variable : report.variables) EXPECT_EQ(variable.kinks, 0) << sample.label;
  }
}

TEST_P(Registry, HasCorrectSecondDerivatives) {
  for (const RegisteredSample& sample : check_of(*GetParam()).samples)
    EXPECT_TRUE(gradients_match(sample.check(Derivative::second, {}))) << sample.label;
}

/// Gradients are the same whether the backward is recorded (tensor operations) or not (fused kernels).
TEST_P(Registry, RecordedAndFusedBackwardsAgree) {
  for (const OpSample& sample : GetParam()->samples()) {
    const Tensors inputs = leaves_of(sample);
    const Tensor y = sample.call(inputs);
    const Tensor seed = sample_normal(y.shape(), 17);
    const Tensors recorded = grad({y}, inputs, {.gradients = {seed}, .create_graph = true, .allow_unused = true});
    const Tensors plain = grad({y}, inputs, {.gradients = {seed}, .allow_unused = true});
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(recorded[i].defined(), plain[i].defined()) << sample.label << ", input " << i;
      if (plain[i].defined()) {
        EXPECT_TRUE(tensors_near(plain[i], recorded[i], 1e-10)) << sample.label << ", input " << i;
      }
    }
  }
}

TEST_P(Registry, F32AgreesWithF64) {
  for (const OpSample& sample : GetParam()->samples()) {
    Tensors exact, rounded;
    for (const Tensor& input : sample.inputs) {
      rounded.push_back(input.to(f32));
      exact.push_back(rounded.back().to(f64));
    }
    Tensor y;
    try {
      y = sample.call(rounded);
    } catch (const Error& error) {
      // Samples may contain f64 constants.
      ASSERT_EQ(error.kind(), ErrorKind::dtype) << sample.label << ": " << error.what();
      continue;
    }
    EXPECT_TRUE(tensors_near(y.to(f64), sample.call(exact), 2e-5)) << sample.label;
  }
}

TEST_P(Registry, AgreesWithComposed) {
  for (const OpSample& sample : GetParam()->samples()) {
    const Tensors inputs = leaves_of(sample);
    const Tensors fused = output_and_gradients(sample, inputs);
    const Composed composed;
    const Tensors unfused = output_and_gradients(sample, inputs);
    for (size_t i = 0; i < fused.size(); ++i)
      EXPECT_TRUE(tensors_near(unfused[i], fused[i], 1e-10))
          << sample.label << (i ? ", gradient of input " : ", output ") << (i ? i - 1 : 0);
  }
}

using StreamStates = std::vector<std::pair<uint64_t, uint64_t>>;

StreamStates stream_states() {
  StreamStates states;
  for (int i = 0; i < kStreams; ++i) {
    const Generator& stream = generator(static_cast<Stream>(i));
    states.emplace_back(stream.seed(), stream.counter());
  }
  return states;
}

/// A sample of a random operation sets the stream's state and then draws.
TEST_P(Registry, DrawsRandomNumbersExactlyIfDeclared) {
  const Op& op = *GetParam();
  bool drawn = false;
  for (const OpSample& sample : op.samples()) {
    manual_seed(23);
    const StreamStates before = stream_states();
    const Tensor y = sample.call(leaves_of(sample));
    const std::vector<const Node*> nodes = nodes_behind({y});
    // A checkpointed function may draw freely.
    if (std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return node->segment != nullptr; })) continue;
    const bool draws = stream_states() != before;
    drawn = drawn || draws;
    if (!draws) continue;
    manual_seed(24);
    EXPECT_TRUE(tensors_equal(sample.call(sample.inputs), y)) << sample.label << " differs with the same stream state";
  }
  EXPECT_EQ(drawn, op.traits().random);
}

/// Operations with kinks have them at equal values or at bounds; their samples, checked above, avoid these points.
TEST_P(Registry, HasKinksExactlyIfDeclared) {
  const Op& op = *GetParam();
  int64_t kinks = 0;
  for (const OpSample& sample : op.samples()) {
    if (sample.step > 0) continue;  // values and steps that are exact in f32
    for (const double value : {0.0, 0.7}) {
      Tensors inputs;
      for (const Tensor& input : sample.inputs) inputs.push_back(full(input.shape(), value, f64));
      for (const GradcheckResult& variable : gradcheck(sample.call, inputs, {.blame = false}).variables)
        kinks += variable.kinks;
    }
  }
  EXPECT_EQ(kinks > 0, op.traits().has_kinks) << kinks << " kinks";
}

INSTANTIATE_TEST_SUITE_P(Ops, Registry, testing::ValuesIn(registered_ops()), [](const auto& op) {
  std::string name = op.param->name();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(RegistryNames, AreDistinctAndSorted) {
  const std::vector<const Op*> ops = registered_ops();
  EXPECT_GE(ops.size(), 60u);
  for (size_t i = 1; i < ops.size(); ++i) EXPECT_LT(std::string(ops[i - 1]->name()), std::string(ops[i]->name()));
}

}  // namespace
}  // namespace tape
