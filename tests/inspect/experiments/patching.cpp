#include "inspect/experiments/patching.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/ops.h"
#include "autograd/random.h"
#include "inspect/experiments/patch.h"
#include "inspect/explorer/explorer_data.h"
#include "nn/transformer/encoder.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/inspect/small_models.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;

constexpr const char* kPatchedCross = "decoder.layers.1.cross_attention";

const PageText clean_source{.ids = {4, 8, 2}, .tokens = {"vier", "acht", "<eos>"}};
const PageText corrupted_source{.ids = {4, 5, 2}, .tokens = {"vier", "drei", "<eos>"}};

Study translated(models::Transformer& model, const std::optional<PageText>& reads = {}) {
  return study(model, clean_source, {.ids = {5, 6}, .tokens = {"four", "eight"}},
               {.logits = {{.position = 1, .token = 6, .name = "eight"}}, .reads = reads});
}

std::unique_ptr<models::Gpt> patched_writer() {
  manual_seed(4);
  auto model = std::make_unique<models::Gpt>(models::GptConfig{.vocab = 7,
                                                               .d_model = 8,
                                                               .layers = 2,
                                                               .heads = 2,
                                                               .max_length = 6,
                                                               .output = nn::TokenOutput::logits,
                                                               .init_std = 0.5});
  model->eval();
  return model;
}

Study written(models::Gpt& model, const std::optional<PageText>& reads = {}) {
  return study(model, {.ids = {1, 2, 5, 3}}, {.positions = {1}, .reads = reads});
}

const PatchGrid& grid_of(const Patching& patching, std::string_view name, int64_t heads = 0) {
  for (const PatchGrid& grid : patching.grids)
    if (grid.name == name && grid.heads == heads) return grid;
  raise(ErrorKind::config, "no grid {}", name);
}

TEST(Patching, CoversEveryLayerBlockAndHead) {
  const auto model = small_translator(nn::NormPlace::post);
  const Patching found = run_activation_patching(translated(*model), translated(*model, corrupted_source));
  std::vector<std::string> names;
  for (const PatchGrid& grid : found.grids) {
    names.push_back(fmt::format("{} {}", grid.name, grid.heads));
    ASSERT_EQ(grid.values.size(), 2u);
    for (const auto& row : grid.values) {
      ASSERT_EQ(row.size(), grid.heads > 0 ? 2u : 4u);
      for (const auto& outputs : row) EXPECT_EQ(outputs.size(), 2u);
    }
  }
  EXPECT_THAT(names, ElementsAre("encoder.layers.* 0", "encoder.layers.*.self_attention 0",
                                 "encoder.layers.*.feed_forward 0", "decoder.layers.* 0",
                                 "decoder.layers.*.self_attention 0", "decoder.layers.*.cross_attention 0",
                                 "decoder.layers.*.feed_forward 0", "encoder.layers.*.self_attention 2",
                                 "decoder.layers.*.self_attention 2", "decoder.layers.*.cross_attention 2"));
  EXPECT_THAT(found.grids[5].modules, ElementsAre("decoder.layers.0.cross_attention", kPatchedCross));
  EXPECT_EQ(found.grids[0].text, 0u);
  EXPECT_EQ(found.grids[3].text, 1u);
  EXPECT_THAT(found.texts[0].tokens, ElementsAre("vier", "drei", "<eos>"));
}

TEST(Patching, RestoresTheCleanRunIfAWholeStackIsPatched) {
  const auto model = small_translator(nn::NormPlace::pre);
  const Study clean = translated(*model);
  const Patching found = run_activation_patching(clean, translated(*model, corrupted_source));
  for (size_t output = 0; output < 2; ++output) {
    EXPECT_NEAR(found.clean[output], clean.run()[output].value.item(), 1e-5);
    EXPECT_GT(std::abs(found.clean[output] - found.corrupted[output]), 1e-3);
    // Any encoder layer, since nothing else reads the source; the last decoder layer, since others read the memory too.
    for (size_t layer = 0; layer < 2; ++layer)
      EXPECT_NEAR(grid_of(found, "encoder.layers.*").values[layer].back()[output], found.clean[output], 1e-12);
    EXPECT_NEAR(grid_of(found, "decoder.layers.*").values[1].back()[output], found.clean[output], 1e-12);
    EXPECT_GT(std::abs(grid_of(found, "decoder.layers.*").values[0].back()[output] - found.clean[output]), 1e-4);
    // Self-attention in the first decoder layer does not depend on the source.
    for (const auto& values : grid_of(found, "decoder.layers.*.self_attention").values[0])
      EXPECT_NEAR(values[output], found.corrupted[output], 1e-12);
  }
}

TEST(Patching, AffectsOnlyLaterPositions) {
  const auto model = patched_writer();
  const Patching found = run_activation_patching(written(*model), written(*model, PageText{.ids = {1, 2, 6, 3}}));
  const PatchGrid& layers = grid_of(found, "encoder.layers.*");
  for (const auto& row : layers.values) {
    // The text differs from its third token on, and a causal model does not look ahead.
    EXPECT_NEAR(row[0][0], found.corrupted[0], 1e-12);
    EXPECT_NEAR(row[1][0], found.corrupted[0], 1e-12);
    EXPECT_NEAR(row[4][0], found.clean[0], 1e-12);
  }
  // The loss is the mean over three positions, each computed from its own row of the last layer: effects add up.
  double sum = 0;
  for (size_t position = 0; position < 4; ++position) sum += layers.values[1][position][0] - found.corrupted[0];
  EXPECT_NEAR(sum, found.clean[0] - found.corrupted[0], 1e-12);
  EXPECT_GT(std::abs(sum), 1e-3);
  // The loss at position 1 has the clean text's third token as target, and reads only tokens before the difference.
  EXPECT_EQ(found.clean[1], found.corrupted[1]);
}

TEST(Patching, AddsUpOverTheHeadsOfAModule) {
  const auto model = patched_writer();
  const Study clean = written(*model), corrupted = written(*model, PageText{.ids = {1, 2, 6, 3}});
  const NoGrad no_grad;
  const RunInF64 f64_parameters(model.get());
  const Activations from(clean);
  const std::string module = "encoder.layers.1.self_attention";
  Tensor whole, both, seen;
  nn::HookScope hooks;
  const auto at = from.module_of({.module = module});
  hooks.forward(*at.module, [&](nn::Module&, const Tensors&, const Tensor& output) {
    seen = output;
    return Tensor();
  });
  const auto run = [&](std::optional<int64_t> head) {
    const PatchedActivations patched(from, {.module = module, .head = head, .position = 3});
    (void)corrupted.run();
    return seen;
  };
  (void)corrupted.run();
  const Tensor base = seen;
  // The projection is linear: each head adds its own part, at this token only.
  const Tensor moved = (run(0) - base) + (run(1) - base);
  EXPECT_TRUE(tensors_near(slice(base + moved, 1, {.start = 3}), slice(at.outputs[0], 1, {.start = 3}), 1e-12));
  EXPECT_TRUE(tensors_near(slice(moved, 1, {.end = 3}), zeros({1, 3, 8}, f64), 1e-15));
  EXPECT_GT(max(abs(moved)).item(), 1e-4);
}

TEST(Patching, MatchesAFrameWithTheSamePatch) {
  const auto model = small_translator(nn::NormPlace::post);
  const Study clean = translated(*model), corrupted = translated(*model, corrupted_source);
  const auto unpatched = [&] {
    return std::pair(record_frame(corrupted, "").outputs[0].value.item(), corrupted.run()[0].value.item());
  };
  const auto before = unpatched();
  const Patching found = run_activation_patching(clean, corrupted);
  const Activations from(clean);
  const PatchGrid &at_tokens = grid_of(found, "decoder.layers.*.cross_attention"),
                  &of_heads = grid_of(found, "decoder.layers.*.cross_attention", 2);
  for (int64_t column = 0; column < 2; ++column) {
    const auto place = static_cast<size_t>(column);
    const Frame token = record_frame(corrupted, "", from, {.module = kPatchedCross, .position = column}),
                head = record_frame(corrupted, "", from, {.module = kPatchedCross, .head = column});
    for (size_t output = 0; output < 2; ++output) {
      EXPECT_NEAR(token.outputs[output].value.item(), at_tokens.values[1][place][output], 1e-5);
      EXPECT_NEAR(head.outputs[output].value.item(), of_heads.values[1][place][output], 1e-5);
    }
    EXPECT_TRUE(token.corrupted);
  }
  // The hooks have been removed.
  EXPECT_EQ(unpatched(), before);
}

TEST(Patching, IsInThePageTogetherWithItsRuns) {
  const auto model = small_translator(nn::NormPlace::post);
  const Study clean = translated(*model), corrupted = translated(*model, corrupted_source);
  const Patching found = run_activation_patching(clean, corrupted);
  const std::vector<Frame> runs{record_frame(clean, "clean"), record_frame(corrupted, "corrupted")};
  const Json data = explorer_data(clean, {.runs = runs, .patching = found});
  EXPECT_TRUE(data["runs"]["frames"][0]["texts"].is_null());
  EXPECT_EQ(data["runs"]["frames"][1]["texts"][0][1], "drei");
  const Json& patching = data["patching"];
  EXPECT_EQ(patching["corrupted"].get<std::vector<double>>(), found.corrupted);
  EXPECT_EQ(patching["texts"][0], (Json{"vier", "drei", "<eos>"}));
  const Tensor values = tensor_of(patching["grids"][5]["values"]);
  EXPECT_EQ(values.shape(), (Shape{2, 4, 2}));
  EXPECT_NEAR(values.to_vector<float>()[static_cast<size_t>(1 * 4 * 2 + 2 * 2 + 1)], found.grids[5].values[1][2][1],
              1e-6);
  EXPECT_TRUE(explorer_data(clean)["patching"].is_null());
}

TEST(Patching, RefusesUnknownModulesHeadsAndPositions) {
  const auto model = small_translator(nn::NormPlace::post);
  const Study clean = translated(*model), corrupted = translated(*model, corrupted_source);
  const Activations from(clean);
  const auto patched = [&](const ActivationPatch& patch) { return record_frame(corrupted, "", from, patch); };
  EXPECT_TAPE_ERROR(
      patched({.module = "decoder.layers.2"}), ErrorKind::config,
      "patch: module \"decoder.layers.2\" has no output with one row per token; outer modules that do: src_embedding, "
      "tgt_embedding, positions, dropout, encoder, encoder.layers.0, encoder.layers.1, decoder, "
      "decoder.layers.0, decoder.layers.1, and 1 more");
  EXPECT_TAPE_ERROR(patched({.module = "decoder.layers.1", .head = 0}), ErrorKind::config,
                    "patch: decoder.layers.1: head 0 is outside [0, 0)");
  EXPECT_TAPE_ERROR(patched({.module = kPatchedCross, .head = 2}), ErrorKind::config,
                    "patch: decoder.layers.1.cross_attention: head 2 is outside [0, 2)");
  EXPECT_TAPE_ERROR(patched({.module = kPatchedCross, .position = 3}), ErrorKind::config,
                    "patch: decoder.layers.1.cross_attention: position 3 is outside [0, 3) of the target");
  EXPECT_TAPE_ERROR(translated(*model, PageText{.ids = {4, 2}}), ErrorKind::config,
                    "study: reads 2 tokens instead of the text's 3: the counts must match");
  const auto other = small_translator(nn::NormPlace::post);
  EXPECT_TAPE_ERROR(run_activation_patching(clean, translated(*other, corrupted_source)), ErrorKind::config,
                    "patch: the clean and the corrupted study have different models");
  EXPECT_TAPE_ERROR(run_activation_patching(study([] { return ones({1}); }, {}), corrupted), ErrorKind::config,
                    "patch: the study has no model that reads a text");
  model->train();
  EXPECT_TAPE_ERROR(run_activation_patching(clean, corrupted), ErrorKind::config,
                    "patch: the model is not deterministic (call eval())");
}

}  // namespace
}  // namespace tape::inspect
