// Twenty training steps of a small Transformer, compared with PyTorch (tests/fixtures/make_training.py).

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/shape.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adam.h"
#include "optim/schedule.h"
#include "tests/nn/torch_case.h"
#include "tests/support/fixtures.h"

namespace tape::models {
namespace {

Transformer& filled(Transformer& model) {
  model.to(f64);
  Named start = with_prefix(fixture_tensors("training"), "start.");
  std::set<std::string> own;
  for (const NamedTensor& parameter : model.named_parameters()) own.insert(parameter.name);
  std::erase_if(start, [&](const auto& entry) { return !own.contains(entry.first); });
  model.load_state_dict(start);
  return model;
}

void follow_torch(const std::string& name, nn::NormPlace norm) {
  const Named& file = fixture_tensors("training");
  Transformer model({.src_vocab = 11,
                     .tgt_vocab = 11,
                     .d_model = 16,
                     .layers = 2,
                     .heads = 2,
                     .d_ff = 32,
                     .dropout = 0,
                     .norm = norm,
                     .max_length = 8});
  filled(model);
  optim::Adam adam(model.parameters(), {.betas = {0.9, 0.98}, .eps = 1e-9});
  optim::NoamSchedule schedule(adam, {.d_model = 16, .warmup = 10});
  const std::vector<double> expected = file.at(name + "/losses").to_vector<double>();
  ASSERT_EQ(expected.size(), 20u);
  double worst = 0;
  for (size_t step = 0; step < expected.size(); ++step) {
    const std::string batch = std::to_string(step % 5);
    const Tensor src = file.at("src." + batch), tgt = file.at("tgt." + batch);
    const int64_t length = tgt.size(1);
    const Tensor logits = model(src, slice(tgt, 1, {.start = 0, .end = length - 1}));
    const Tensor loss =
        cross_entropy(logits, slice(tgt, 1, {.start = 1, .end = length}), {.ignore_index = 0, .label_smoothing = 0.1});
    adam.zero_grad();
    loss.backward();
    adam.step();
    schedule.step();
    const double error = std::abs(loss.item() - expected[step]) / expected[step];
    worst = std::max(worst, error);
    EXPECT_LE(error, 1e-9) << name << ", step " << step + 1 << ": " << loss.item() << ", torch " << expected[step];
  }
  testing::Test::RecordProperty(name + " losses", fmt::format("{:.2g}", worst));
  worst = 0;
  for (const NamedTensor& parameter : model.named_parameters()) {
    const Tensor end = file.at(name + "/end." + parameter.name);
    const std::string what = name + " " + parameter.name;
    // The gradient of a key bias is 0 in theory and rounding error in practice, which Adam divides by its own size.
    if (parameter.name.ends_with("key.bias"))
      expect_close(what, parameter.tensor, end, largest(end), 1e-6);
    else
      worst = std::max(worst, expect_close(what, parameter.tensor, end, largest(end), 1e-8));
  }
  testing::Test::RecordProperty(name + " parameters", fmt::format("{:.2g}", worst));
}

TEST(Training, FollowsTorchWithPostNorm) { follow_torch("post", nn::NormPlace::post); }
TEST(Training, FollowsTorchWithPreNorm) { follow_torch("pre", nn::NormPlace::pre); }

}  // namespace
}  // namespace tape::models
