#include "inspect/explorer/frames.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "autograd/ops.h"
#include "autograd/random.h"
#include "inspect/experiments/nudges.h"
#include "inspect/explorer/explorer_data.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;

constexpr const char* kCross = "decoder.layers.1.cross_attention";

std::unique_ptr<models::Transformer> framed_translator(uint64_t seed, int64_t layers = 2, int64_t tgt_vocab = 7) {
  manual_seed(seed);
  auto model = std::make_unique<models::Transformer>(models::TransformerConfig{
      .src_vocab = 9, .tgt_vocab = tgt_vocab, .d_model = 8, .layers = layers, .heads = 2, .d_ff = 12, .max_length = 8});
  model->eval();
  return model;
}

Study framed(models::Transformer& model, const std::string& last = "eight") {
  return study(model, {.ids = {4, 8, 2}, .tokens = {"vier", "acht", "<eos>"}},
               {.ids = {5, 6}, .tokens = {"four", last}}, {.logits = {{.position = 1, .token = 6, .name = "eight"}}});
}

TEST(Frames, HaveTheValuesOfAPageOfTheSameStudy) {
  const auto model = framed_translator(3);
  const Frame frame = record_frame(framed(*model), "now");
  const Json data = explorer_data(framed(*model));
  EXPECT_EQ(frame.name, "now");
  ASSERT_EQ(frame.outputs.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(frame.outputs[i].value.item(), data["outputs"][i]["value"].get<double>());
    EXPECT_FALSE(frame.outputs[i].value.requires_grad());
  }
  ASSERT_EQ(frame.attention.size(), data["attention"].size());
  for (size_t i = 0; i < frame.attention.size(); ++i) {
    EXPECT_EQ(frame.attention[i].module, data["attention"][i]["module"].get<std::string>());
    EXPECT_TRUE(tensors_equal(frame.attention[i].weights, tensor_of(data["attention"][i]["values"]["probabilities"])));
  }
}

TEST(Frames, MatchTheNudgesAfterAHeadAblation) {
  const auto model = framed_translator(3);
  const Study study = framed(*model);
  const Frame clean = record_frame(study, "clean"), cut = record_frame(study, "cut", HeadAblation{kCross, 1});
  const Tensor cut_weights = cut.attention.back().weights;
  EXPECT_EQ(cut.attention.back().module, kCross);
  EXPECT_EQ(max(abs(select(cut_weights, 0, 1))).item(), 0);
  EXPECT_TRUE(tensors_equal(select(cut_weights, 0, 0), select(clean.attention.back().weights, 0, 0)));
  const Nudges nudged = run_nudges(study, {.weights = 0, .activations = 0});
  size_t found = 0;
  for (const Ablation& one : nudged.cuts) {
    if (one.kind != Ablation::Kind::head || one.module != kCross || one.head != 1) continue;
    ++found;
    for (size_t i = 0; i < 2; ++i) {
      const double effect = cut.outputs[i].value.item() - clean.outputs[i].value.item();
      EXPECT_NEAR(effect, one.effects[i], 1e-5);
      EXPECT_GT(std::abs(effect), 1e-4);
    }
  }
  EXPECT_EQ(found, 1u);
}

TEST(Frames, RefuseToCutUnknownHeads) {
  const auto model = framed_translator(3);
  EXPECT_TAPE_ERROR(record_frame(framed(*model), "cut", HeadAblation{"decoder", 0}), ErrorKind::config,
                    "cut: \"decoder\" has no attention weights; modules that do: encoder.layers.0.self_attention, "
                    "encoder.layers.1.self_attention, decoder.layers.0.self_attention, "
                    "decoder.layers.0.cross_attention, decoder.layers.1.self_attention, "
                    "decoder.layers.1.cross_attention");
  EXPECT_TAPE_ERROR(record_frame(framed(*model), "cut", HeadAblation{kCross, 2}), ErrorKind::config,
                    "cut: decoder.layers.1.cross_attention: head 2 is outside [0, 2)");
}

TEST(Frames, ShowTheSameTokensForEachRun) {
  const auto model = framed_translator(3), other = framed_translator(4, 1);
  const std::vector<Frame> runs{record_frame(framed(*model), "one"), record_frame(framed(*other), "two")};
  const Json data = explorer_data(framed(*model), {.runs = runs});
  const Json &shown = data["runs"], &frames = shown["frames"];
  EXPECT_EQ(shown["of"], 2);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1]["name"], "two");
  EXPECT_EQ(frames[0]["attention"].size(), 6u);
  EXPECT_EQ(frames[1]["attention"].size(), 3u);
  EXPECT_TRUE(shown["tokens"][1].is_null());
  const auto tokens = shown["tokens"][0].get<std::vector<int64_t>>();
  ASSERT_EQ(tokens.size(), 3u * 7);  // the whole vocabulary, which is small
  const std::vector<int64_t> right{5, 6, 2};
  for (size_t run = 0; run < 2; ++run) {
    const std::vector<float> logs = tensor_of(frames[run]["log_p"][0]).to_vector<float>();
    const Tensor expected = log_softmax(runs[run].outputs[0].prediction->logits, -1);
    double loss = 0;
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_EQ(tokens[row * 7], right[row]);
      loss -= logs[row * 7] / 3;
      for (size_t i = 0; i < 7; ++i)
        EXPECT_NEAR(logs[row * 7 + i], expected.to_vector<float>()[row * 7 + static_cast<size_t>(tokens[row * 7 + i])],
                    1e-5);
    }
    EXPECT_NEAR(loss, frames[run]["values"][0].get<double>(), 1e-5);
  }
  EXPECT_NE(frames[0]["values"][0], frames[1]["values"][0]);
  EXPECT_TRUE(explorer_data(framed(*model))["runs"].is_null());
}

TEST(Frames, AreDroppedEvenlyIfThereAreTooMany) {
  const auto model = framed_translator(3);
  std::vector<Frame> runs;
  for (int64_t i = 0; i < 9; ++i) runs.push_back(record_frame(framed(*model), std::to_string(i)));
  const auto names = [&](int64_t bytes) {
    std::vector<std::string> kept;
    const Json data = explorer_data(framed(*model), {.runs = runs, .bytes = bytes});
    EXPECT_EQ(data["runs"]["of"], 9);
    EXPECT_EQ(data["runs"]["modules_of"], 6);
    EXPECT_EQ(data["runs"]["modules"], bytes > 1000 ? 6 : 1);
    EXPECT_EQ(data["runs"]["frames"][0]["attention"].back()["module"], kCross);
    for (const Json& frame : data["runs"]["frames"]) kept.push_back(frame["name"]);
    return kept;
  };
  EXPECT_EQ(names(4'000'000).size(), 9u);
  EXPECT_THAT(names(1000), ElementsAre("0", "8"));
  const std::vector<std::string> some = names(64'000);
  EXPECT_GT(some.size(), 2u);
  EXPECT_LT(some.size(), 9u);
}

TEST(Frames, AreRefusedForOtherTextsOrVocabularies) {
  const auto model = framed_translator(3), other = framed_translator(3, 2, 8);
  const auto page = [&](Frame run) { return explorer_data(framed(*model), {.runs = {std::move(run)}}); };
  EXPECT_TAPE_ERROR(
      page(record_frame(framed(*model, "ate"), "two")), ErrorKind::config,
      "two: reads the text as \"vier acht <eos> / <bos> four ate\", the page's model as \"vier acht <eos> "
      "/ <bos> four eight\": runs need the same tokens");
  EXPECT_TAPE_ERROR(page(record_frame(framed(*other), "two")), ErrorKind::config,
                    "two: predicts one of 8 tokens, but the page's model one of 7");
  Frame fewer = record_frame(framed(*model), "two");
  fewer.outputs.pop_back();
  EXPECT_TAPE_ERROR(page(fewer), ErrorKind::config, "two: returns 1 outputs, but the page's model 2");
  Frame elsewhere = record_frame(framed(*model), "two");
  elsewhere.outputs[0].prediction->targets[1] = 3;
  EXPECT_TAPE_ERROR(page(elsewhere), ErrorKind::config,
                    "two: output \"loss\" has other targets than the page's \"loss\"");
}

}  // namespace
}  // namespace tape::inspect
