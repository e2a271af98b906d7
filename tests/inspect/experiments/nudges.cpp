#include "inspect/experiments/nudges.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/ops.h"
#include "inspect/explorer/explorer_data.h"
#include "models/decoders/gpt.h"
#include "nn/module/hook_scope.h"
#include "nn/transformer/encoder.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

constexpr int64_t kPositions = 3, kHeads = 2, kWidth = 6, kOfHead = kWidth / kHeads;
constexpr const char* kAttention = "layers.0.self_attention";

/// One encoder layer over three tokens, and a loss that is not a symmetric function of its output.
struct Layer {
  Layer() {
    manual_seed(5);
    encoder = std::make_unique<nn::Encoder>(
        1, nn::TransformerLayerOptions{.d_model = kWidth, .heads = kHeads, .d_ff = 8, .norm = nn::NormPlace::post});
    encoder->to(f64);
    encoder->eval();
    x = randn({1, kPositions, kWidth}, f64);
    factors = randn({1, kPositions, kWidth}, f64);
  }
  Tensor loss(const Mask& mask = {}) const { return mean(square((*encoder)(x, mask) * factors - 0.3)); }
  Study study() const {
    return {.module = encoder.get(),
            .kind = "encoder",
            .texts = {{.name = "text", .tokens = {"a", "b", "c"}, .segments = {}}},
            .run = [this] {
              return std::vector<PageOutput>{{"loss", loss()}};
            }};
  }
  nn::MultiHeadAttention& attention() const { return *encoder->layers[0]->self_attention; }
  /// scale Q K^T, [1, H, T, T]
  Tensor scores() const {
    const auto heads = [this](nn::Linear& layer) {
      return permute(reshape(layer(x), Shape{1, kPositions, kHeads, kOfHead}), {0, 2, 1, 3});
    };
    return matmul(heads(*attention().query), heads(*attention().key), {.transpose_b = true}) *
           (1 / std::sqrt(static_cast<double>(kOfHead)));
  }
  /// The loss for a different output of the attention.
  double loss_with(const std::function<Tensor(const Tensor&)>& other) const {
    nn::HookScope hooks;
    hooks.forward(attention(), [&](nn::Module&, const Tensors&, const Tensor& output) { return other(output); });
    return loss().item();
  }
  double loss_adding(const Tensor& scores) const { return loss(Mask::additive(scores)).item(); }

  std::unique_ptr<nn::Encoder> encoder;
  Tensor x, factors;
};

/// [1, H, T, T], zero except at one index.
Tensor one_at(const std::vector<int64_t>& index, double value) {
  Tensor tensor = zeros({1, kHeads, kPositions, kPositions}, f64);
  tensor.mutable_data<double>()[(index[1] * kPositions + index[2]) * kPositions + index[3]] = value;
  return tensor;
}

std::vector<const Nudge*> of_kind(const Nudges& nudged, Nudge::Kind kind) {
  std::vector<const Nudge*> found;
  for (const Nudge& nudge : nudged.nudges)
    if (nudge.kind == kind) found.push_back(&nudge);
  return found;
}

TEST(Nudges, PerturbsScoresLikeAnAdditiveMask) {
  const Layer layer;
  const Nudges nudged = run_nudges(layer.study());
  const double loss = layer.loss().item();
  const Tensor scores = layer.scores();
  const auto nudges = of_kind(nudged, Nudge::Kind::score);
  ASSERT_EQ(nudges.size(), 18u);
  for (const Nudge* nudge : nudges) {
    EXPECT_EQ(nudge->module, kAttention);
    EXPECT_NEAR(nudge->value, sum(scores * one_at(nudge->index, 1)).item(), 1e-12);
    for (size_t i = 0; i < nudge->changes.size(); ++i)
      EXPECT_NEAR(nudge->effects[0][i], layer.loss_adding(one_at(nudge->index, nudge->changes[i])) - loss, 1e-12);
    const double h = 1e-5;
    const double slope =
        (layer.loss_adding(one_at(nudge->index, h)) - layer.loss_adding(one_at(nudge->index, -h))) / (2 * h);
    EXPECT_NEAR(nudge->gradients[0], slope, 1e-8);
  }
}

TEST(Nudges, PerturbsWeightsByAddingMoreOfTheKeysValue) {
  const Layer layer;
  const Nudges nudged = run_nudges(layer.study());
  const double loss = layer.loss().item();
  const Tensor probabilities = softmax(layer.scores(), -1);
  const Tensor value = (*layer.attention().value)(layer.x).detach(), output = layer.attention().output->weight.detach();
  const auto nudges = of_kind(nudged, Nudge::Kind::weight);
  ASSERT_EQ(nudges.size(), 18u);
  for (const Nudge* nudge : nudges) {
    const int64_t head = nudge->index[1], row = nudge->index[2], key = nudge->index[3];
    EXPECT_NEAR(nudge->value, sum(probabilities * one_at(nudge->index, 1)).item(), 1e-12);
    // The head's part of the key's value, through the head's columns of the output projection.
    const SliceOptions part{.start = head * kOfHead, .end = (head + 1) * kOfHead};
    const Tensor said = matmul(slice(output, 1, part), reshape(slice(value[0][key], 0, part), Shape{kOfHead, 1}));
    const auto with = [&](double change) {
      return layer.loss_with([&](const Tensor& y) {
        Tensor at_row = zeros({1, kPositions, 1}, f64);
        at_row.mutable_data<double>()[row] = change;
        return y + at_row * reshape(said, Shape{1, 1, kWidth});
      });
    };
    for (size_t i = 0; i < nudge->changes.size(); ++i)
      EXPECT_NEAR(nudge->effects[0][i], with(nudge->changes[i]) - loss, 1e-12);
    EXPECT_NEAR(nudge->gradients[0], (with(1e-5) - with(-1e-5)) / 2e-5, 1e-8);
  }
}

TEST(Nudges, CutsLikeMasksAndRemovedColumns) {
  const Layer layer;
  const Nudges nudged = run_nudges(layer.study());
  const double loss = layer.loss().item();
  const Tensor scores = layer.scores();
  ASSERT_EQ(nudged.cuts.size(), static_cast<size_t>(kHeads * (1 + 2 * kPositions)));
  const Tensor before = layer.attention()(layer.x).detach();
  for (const Ablation& cut : nudged.cuts) {
    SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(cut.kind), cut.head, cut.place));
    Mask mask;
    Tensor weight = layer.attention().output->weight;
    const Tensor whole = weight.detach().clone();
    if (cut.kind == Ablation::Kind::head) {
      for (int64_t row = 0; row < kWidth; ++row)
        for (int64_t i = 0; i < kOfHead; ++i) weight.mutable_data<double>()[row * kWidth + cut.head * kOfHead + i] = 0;
    } else if (cut.kind == Ablation::Kind::key) {
      Tensor added = zeros({1, kHeads, kPositions, kPositions}, f64);
      for (int64_t row = 0; row < kPositions; ++row)
        added.mutable_data<double>()[(cut.head * kPositions + row) * kPositions + cut.place] = -INFINITY;
      mask = Mask::additive(added);
    } else {
      Tensor row = zeros({1, kHeads, kPositions, kPositions}, f64);
      for (int64_t key = 0; key < kPositions; ++key)
        row.mutable_data<double>()[(cut.head * kPositions + cut.place) * kPositions + key] = 1;
      mask = Mask::additive((scores * row * -1.0).detach());
    }
    const Tensor after = layer.attention()(layer.x, mask).detach();
    EXPECT_NEAR(cut.effects[0], layer.loss(mask).item() - loss, 1e-12);
    EXPECT_NEAR(cut.moved, std::sqrt(sum(square(after - before)).item() / sum(square(before)).item()), 1e-12);
    NoGrad no_grad;
    weight.copy_(whole);
  }
}

TEST(Nudges, PredictsACutAsTheSumOverItsWeights) {
  const Layer layer;
  const Nudges nudged = run_nudges(layer.study());
  const auto nudges = of_kind(nudged, Nudge::Kind::weight);
  for (const Ablation& cut : nudged.cuts) {
    if (cut.kind != Ablation::Kind::head) continue;
    double expected = 0;
    for (const Nudge* nudge : nudges)
      if (nudge->index[1] == cut.head) expected -= nudge->value * nudge->gradients[0];
    EXPECT_NEAR(cut.predicted[0], expected, 1e-12);
  }
}

TEST(Nudges, PerturbsOneElementOfEveryOtherOperation) {
  const Tensor x = tensor({0.5, -1, 2}, f64).requires_grad_();
  const auto f = [&x] { return sum(square(exp(x) * 2.0)); };
  const Nudges nudged = run_nudges(study(f, {{"x", x}}));
  EXPECT_TRUE(nudged.cuts.empty());
  std::vector<std::string> operations;
  for (const Nudge& nudge : nudged.nudges) {
    operations.push_back(nudge.operation);
    EXPECT_EQ(nudge.kind, Nudge::Kind::activation);
    // Where the gradient is largest; the gradients of the square are all equal.
    EXPECT_THAT(nudge.index, testing::ElementsAre(nudge.operation == "square" ? 0 : 2));
  }
  EXPECT_THAT(operations, testing::ElementsAre("exp", "affine", "square"));
  const Nudge& of_exp = nudged.nudges[0];
  const double y = std::exp(2.0);
  EXPECT_NEAR(of_exp.value, y, 1e-12);
  EXPECT_NEAR(of_exp.gradients[0], 8 * y, 1e-10);
  for (size_t i = 0; i < of_exp.changes.size(); ++i) {
    const double moved = y + of_exp.changes[i];
    EXPECT_NEAR(of_exp.effects[0][i], 4 * (moved * moved - y * y), 1e-9);
  }
}

TEST(Nudges, ChoosesTheLargestGradients) {
  const Layer layer;
  const Nudges all = run_nudges(layer.study()), some = run_nudges(layer.study(), {.weights = 4, .activations = 5});
  EXPECT_EQ(of_kind(some, Nudge::Kind::activation).size(), 5u);
  for (const Nudge::Kind kind : {Nudge::Kind::weight, Nudge::Kind::score}) {
    const auto kept = of_kind(some, kind);
    ASSERT_EQ(kept.size(), 4u);  // two per head
    double least = INFINITY;
    for (const Nudge* nudge : kept)
      if (nudge->index[1] == 0) least = std::min(least, std::abs(nudge->gradients[0]));
    int64_t larger = 0;
    for (const Nudge* nudge : of_kind(all, kind))
      larger += nudge->index[1] == 0 && std::abs(nudge->gradients[0]) >= least;
    EXPECT_EQ(larger, 2);
  }
}

TEST(Nudges, LeavesTheModelUnchanged) {
  manual_seed(2);
  models::Gpt model({.vocab = 9, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 8, .max_length = 8});
  model.eval();
  const Study of = study(model, PageText{.ids = {1, 5, 3}});
  const Tensor before = of.run()[0].value;
  const Nudges nudged = run_nudges(of);
  EXPECT_TRUE(tensors_equal(of.run()[0].value, before));
  for (const NamedTensor& parameter : model.named_parameters()) {
    EXPECT_EQ(parameter.tensor.dtype(), f32);
    EXPECT_FALSE(parameter.tensor.grad().defined());
  }
  // Keys hidden by a causal mask are not perturbed, and equal weights are spread over the visible ones.
  for (const Nudge& nudge : nudged.nudges)
    if (nudge.kind != Nudge::Kind::activation) {
      EXPECT_LE(nudge.index[3], nudge.index[2]);
    }
  for (const Ablation& cut : nudged.cuts)
    if (cut.kind == Ablation::Kind::row && cut.place == 0) {
      EXPECT_NEAR(cut.effects[0], 0, 1e-15);
    }
}

TEST(Nudges, RefersToNodesOfThePagesTape) {
  const Layer layer;
  const Json data = explorer_data(layer.study(), {.nudges = NudgeOptions()});
  const Json &nudges = data["nudges"], &nodes = data["tape"]["nodes"];
  const Tensor gradients = tensor_of(nudges["gradients"]);
  ASSERT_GT(nudges["places"].size(), 50u);
  EXPECT_EQ(shape_of(nudges["effects"]), (Shape{std::ssize(nudges["places"]), 1, 6}));
  EXPECT_EQ(shape_of(nudges["changes"]), (Shape{std::ssize(nudges["places"]), 6}));
  EXPECT_EQ(nudges["cuts"].size(), 14u);
  for (size_t i = 0; i < nudges["places"].size(); ++i) {
    const Json &place = nudges["places"][i], &output = nodes[place["node"].get<size_t>()]["outputs"][0];
    Tensor value = tensor_of(output["value"]), gradient = tensor_of(output["gradients"][0]);
    const auto index = place["index"].get<std::vector<int64_t>>();
    if (value.shape() != shape_of(output) || static_cast<int64_t>(index.size()) != value.rank()) continue;
    for (const int64_t at : index) value = value[at], gradient = gradient[at];
    EXPECT_NEAR(place["value"].get<double>(), value.item(), 1e-6);
    EXPECT_NEAR(gradients[static_cast<int64_t>(i)].item(), gradient.item(), 1e-6);
  }
}

TEST(Nudges, RefusesInvalidStudiesAndOptions) {
  const Layer layer;
  EXPECT_TAPE_ERROR(run_nudges(Study()), ErrorKind::config, "nudges: the study has no function to run");
  EXPECT_TAPE_ERROR(run_nudges(layer.study(), {.weights = -1}), ErrorKind::config,
                    "nudges: weights -1 and activations 320 must be 0 or more");
  double drift = 1;
  const Tensor x = tensor({1, 2}, f64).requires_grad_();
  EXPECT_TAPE_ERROR(run_nudges(study([&] { return sum(x * (drift *= 2)); }, {{"x", x}})), ErrorKind::config,
                    "nudges: the function returned loss = 6 and then 12: it must be deterministic (call eval())");
}

}  // namespace
}  // namespace tape::inspect
