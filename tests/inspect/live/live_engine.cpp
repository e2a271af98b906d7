#include "inspect/live/live_engine.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "base/file.h"
#include "inspect/experiments/inspected_model.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/explorer/shared_data.h"
#include "inspect/live/live_page.h"
#include "models/decoders/gpt.h"
#include "models/decoders/llama.h"
#include "models/encoders/bert.h"
#include "models/heads/sequence_classifier.h"
#include "models/vision/vit.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/inspect/live/number_words_folder.h"
#include "text/tokenizers/characters.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json call(LiveEngine& engine, const Json& request) { return Json::parse(engine.answer(request.dump())); }

Json answer(LiveEngine& engine, const Json& request) {
  const Json json = call(engine, request);
  EXPECT_TRUE(json.contains("ok")) << json.dump();
  return json.value("ok", Json());
}

std::string error(LiveEngine& engine, const Json& request) {
  const Json json = call(engine, request);
  EXPECT_TRUE(json.contains("error")) << json.dump().substr(0, 200);
  return json.value("error", "");
}

/// Without what differs from run to run.
Json without_times(Json data) {
  for (Json& node : data["tape"]["nodes"]) node.erase("forward_us"), node.erase("backward_us");
  return data;
}

class LiveEngineTest : public testing::Test {
 protected:
  LiveEngineTest() { opened_ = answer(engine_, {{"call", "open"}, {"folder", folder_.path()}}); }

  const NumberWordsFolder folder_;
  LiveEngine engine_;
  Json opened_;
};

TEST_F(LiveEngineTest, OpensAFolder) {
  EXPECT_EQ(opened_["class"], "Transformer");
  EXPECT_EQ(opened_["kind"], "encoder-decoder");
  EXPECT_GT(opened_["parameters"], 1000);
  EXPECT_EQ(opened_["trains"], "number_words");
  EXPECT_TRUE(opened_["fixed_positions"].is_null());
}

TEST_F(LiveEngineTest, ExploresAsAWrittenPageDoes) {
  const Json live = answer(engine_, {{"call", "explore"}, {"text", "dreiundvierzig"}});
  const InspectedModel subject(folder_.path(), {.text = "dreiundvierzig"});
  const Json page = share_repeated_data(explorer_data(subject.study(), {.title = subject.title()}));
  EXPECT_EQ(without_times(live["data"]), without_times(Json::parse(page.dump())));
  EXPECT_EQ(live["unknown"], Json::array());
  const std::vector<int64_t>& ids = subject.study().texts[1].ids;
  EXPECT_EQ(live["target"].get<std::vector<int64_t>>(), std::vector<int64_t>(ids.begin() + 1, ids.end()));
}

TEST_F(LiveEngineTest, TakesTargetTitleAndBytes) {
  const Json live =
      answer(engine_,
             {{"call", "explore"}, {"text", "vierzig"}, {"target", {5, 6, 7}}, {"title", "A title"}, {"bytes", 1000}});
  EXPECT_EQ(live["data"]["title"], "A title");
  EXPECT_EQ(live["target"], Json({5, 6, 7}));
  EXPECT_EQ(live["data"]["texts"][1]["tokens"].size(), 4u);
  const Json more = answer(engine_, {{"call", "explore"}, {"text", "vierzig"}, {"target", {5, 6, 7}}});
  EXPECT_LT(live["data"].dump().size(), more["data"].dump().size());
}

TEST_F(LiveEngineTest, TakesATargetAsText) {
  const Json live =
      answer(engine_, {{"call", "explore"}, {"text", "vierzig"}, {"target_text", "forty !"}, {"bytes", 1000}});
  const InspectedModel subject(folder_.path(), {.text = "vierzig", .text_b = "forty !"});
  const std::vector<int64_t>& ids = subject.study().texts[1].ids;
  EXPECT_EQ(live["target"].get<std::vector<int64_t>>(), std::vector<int64_t>(ids.begin() + 1, ids.end()));
  EXPECT_EQ(live["unknown"], Json({"!"}));
}

TEST_F(LiveEngineTest, FollowsEdits) {
  const Json request{{"call", "explore"}, {"text", "vierzig"}, {"target", {5, 6, 7}}};
  const Json clean = answer(engine_, request);
  Json edited = request;
  edited["edits"] = Json::array({{{"kind", "ablate"}, {"module", "decoder.layers.0.cross_attention"}, {"head", 0}}});
  EXPECT_NE(answer(engine_, edited)["data"]["outputs"], clean["data"]["outputs"]);
  EXPECT_EQ(without_times(answer(engine_, request)["data"]), without_times(clean["data"])) << "undone afterwards";
  edited["edits"][0]["head"] = 9;
  EXPECT_EQ(error(engine_, edited), "edits[0].head: 9 is outside [0, 2) of decoder.layers.0.cross_attention");
}

TEST_F(LiveEngineTest, ListsUnknownWords) {
  const Json live = answer(engine_, {{"call", "explore"}, {"text", "vier, x"}, {"target", {5}}});
  EXPECT_THAT(live["unknown"].get<std::vector<std::string>>(), testing::Contains(","));
}

TEST_F(LiveEngineTest, ReturnsAttentionWeights) {
  const Json request{{"text", "vierzig"}, {"target", {5, 6, 7}}};
  Json heads = request, explore = request;
  heads["call"] = "heads";
  explore["call"] = "explore";
  heads = answer(engine_, heads);
  const Json data = answer(engine_, explore)["data"];
  EXPECT_NEAR(heads["loss"].get<double>(), data["outputs"][0]["value"].get<double>(), 1e-5);
  ASSERT_EQ(heads["attention"].size(), data["attention"].size());
  const auto data_of = [&](Json tensor) {
    if (tensor["data"].is_number()) tensor["data"] = data["shared"][tensor["data"].get<size_t>()];
    return tensor_of(tensor);
  };
  for (const Json& one : heads["attention"]) {
    const auto same = std::find_if(data["attention"].begin(), data["attention"].end(),
                                   [&](const Json& other) { return other["module"] == one["module"]; });
    ASSERT_NE(same, data["attention"].end());
    const Tensor expected = data_of((*same)["values"]["probabilities"]);
    ASSERT_EQ(one["queries"].size(), static_cast<size_t>(expected.size(1)));
    ASSERT_EQ(one["keys"].size(), static_cast<size_t>(expected.size(2)));
    size_t at = 0;
    const std::vector<float> values = expected.to_vector<float>();
    for (const Json& head : one["weights"])
      for (const Json& row : head)
        for (const Json& weight : row) EXPECT_NEAR(weight.get<double>(), values[at++], 2e-5);
    EXPECT_EQ(at, values.size());
  }
}

TEST_F(LiveEngineTest, TrainsAndRestores) {
  const Json request{{"call", "heads"}, {"text", "vierzig"}, {"target", {5, 6, 7}}};
  const Json before = answer(engine_, request);
  EXPECT_EQ(error(engine_, {{"call", "train"}, {"steps", 1}}), "train: call train_new first");
  EXPECT_EQ(answer(engine_, {{"call", "train_new"}, {"seed", 1}})["parameters"], opened_["parameters"]);
  const Json fresh = answer(engine_, request);
  EXPECT_NE(fresh, before);

  const Json trained = answer(engine_, {{"call", "train"}, {"steps", 3}});
  EXPECT_EQ(trained["step"], 3);
  EXPECT_EQ(trained["losses"].size(), 3u);
  EXPECT_GT(trained["lr"], 0);
  EXPECT_GT(trained["grad_norm"], 0);
  EXPECT_GE(trained["ms"], 0);
  EXPECT_NE(answer(engine_, request), fresh);

  const Json forward = answer(engine_, {{"call", "train_part"}, {"part", "forward"}});
  EXPECT_EQ(forward["step"], 4);
  EXPECT_GT(forward["loss"], 0);
  EXPECT_TRUE(forward["batch"][0]["source"].is_string());
  const Json backward = answer(engine_, {{"call", "train_part"}, {"part", "backward"}});
  double squares = 0;
  for (const Json& parameter : backward["parameters"])
    squares += parameter["norm"].get<double>() * parameter["norm"].get<double>();
  EXPECT_NEAR(std::sqrt(squares), backward["grad_norm"].get<double>(), 1e-4);
  const Json update = answer(engine_, {{"call", "train_part"}, {"part", "update"}});
  EXPECT_EQ(update["step"], 4);
  ASSERT_EQ(update["parameters"].size(), backward["parameters"].size());
  EXPECT_GT(update["parameters"][0]["change"], 0);
  EXPECT_GT(update["parameters"][0]["norm"], 0);

  const Json test = answer(engine_, {{"call", "test"}, {"count", 5}});
  EXPECT_EQ(test["count"], 5);
  EXPECT_EQ(test["samples"].size(), 5u);
  EXPECT_TRUE(test["samples"][0]["output"].is_string());

  EXPECT_EQ(answer(engine_, {{"call", "restore"}}), Json::object());
  EXPECT_EQ(answer(engine_, request), before);
}

TEST_F(LiveEngineTest, AnswersWithErrors) {
  EXPECT_EQ(call(engine_, Json("text")), Json({{"error", "request: not a JSON object"}}));
  EXPECT_THAT(Json::parse(engine_.answer("{"))["error"].get<std::string>(), HasSubstr("request: parse error"));
  EXPECT_EQ(error(engine_, {{"text", "x"}}), "call: required");
  EXPECT_EQ(error(engine_, {{"call", "fly"}}),
            "call: unknown call \"fly\"; known are open, explore, heads, train_new, train, train_part, test, restore");
  EXPECT_EQ(error(engine_, {{"call", "explore"}}), "text: required");
  EXPECT_EQ(error(engine_, {{"call", "explore"}, {"text", 3}}), "text: expected a string, got 3");
  EXPECT_EQ(error(engine_, {{"call", "explore"}, {"text", " "}}), "text: the text is empty");
  EXPECT_EQ(error(engine_, {{"call", "explore"}, {"text", "drei"}, {"target", "x"}}),
            "target: expected a list of integers, got \"x\"");
  EXPECT_EQ(error(engine_, {{"call", "explore"}, {"text", "drei"}, {"edits", 1}}),
            "edits: expected a list of objects, got 1");
  EXPECT_EQ(error(engine_, {{"call", "train_new"}, {"seed", "a"}}), "seed: expected an integer, got \"a\"");
  answer(engine_, {{"call", "train_new"}, {"seed", 1}});
  EXPECT_EQ(error(engine_, {{"call", "train"}, {"steps", 0}}), "steps: must be at least 1, got 0");
  EXPECT_EQ(error(engine_, {{"call", "train_part"}, {"part", "side"}}),
            "part: expected \"forward\", \"backward\" or \"update\", got \"side\"");
  LiveEngine other;
  EXPECT_EQ(error(other, {{"call", "explore"}, {"text", "x"}}), "explore: call open first");
}

TEST(LiveEngine, SaysWhyTheTokensOfAModelCannotBeMoved) {
  const TemporaryFolder folder;
  const auto tokenizer = text::character_tokenizer("abc");
  models::save(
      folder.path(),
      models::Llama(
          {.vocab = tokenizer->vocab_size(), .d_model = 8, .layers = 1, .heads = 2, .d_ff = 8, .max_length = 8}));
  tokenizer->save(folder.path());
  LiveEngine engine;
  const std::string why =
      "Llama adds no positions to the embeddings of its tokens: its attention rotates each query and key by its "
      "position, "
      "so that scores depend on distances";
  EXPECT_EQ(answer(engine, {{"call", "open"}, {"folder", folder.path()}})["fixed_positions"], why);
  const Json moved = Json{{{"kind", "position"}, {"text", 0}, {"token", 1}, {"position", 0}}};
  EXPECT_EQ(error(engine, {{"call", "explore"}, {"text", "abca"}, {"edits", moved}}), "edits[0].position: " + why);
}

TEST(LiveEngine, ExploresALanguageModel) {
  const TemporaryFolder folder;
  const auto tokenizer = text::character_tokenizer("abc");
  manual_seed(3);
  models::save(folder.path(), models::Gpt({.vocab = tokenizer->vocab_size(), .d_model = 8, .layers = 1, .heads = 2}));
  tokenizer->save(folder.path());
  LiveEngine engine;
  const Json opened = answer(engine, {{"call", "open"}, {"folder", folder.path()}});
  EXPECT_EQ(opened["kind"], "decoder");
  EXPECT_TRUE(opened["trains"].is_null());
  EXPECT_TRUE(opened["fixed_positions"].is_null());
  const Json live = answer(engine, {{"call", "explore"}, {"text", "abcäa"}});
  EXPECT_EQ(live["target"], Json::array());
  EXPECT_THAT(live["unknown"].get<std::vector<std::string>>(), ElementsAre("ä")) << "dropped characters";
  EXPECT_EQ(error(engine, {{"call", "train_new"}, {"seed", 1}}),
            fmt::format("train_new: {} does not contain a translator of number words", folder.path()));
}

TEST(LiveEngine, KeepsTheLabelOfAClassifier) {
  const TemporaryFolder folder;
  const auto tokenizer = text::character_tokenizer("abc");
  manual_seed(3);
  const models::SequenceClassifier model(
      {.encoder =
           models::BertConfig{
               .vocab = tokenizer->vocab_size(), .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12, .max_length = 12},
       .num_labels = 3});
  models::save(folder.path(), model);
  tokenizer->save(folder.path());
  LiveEngine engine;
  answer(engine, {{"call", "open"}, {"folder", folder.path()}});
  Json request{{"call", "explore"}, {"text", "abc"}};
  const Json live = answer(engine, request);
  ASSERT_EQ(live["target"].size(), 1u);
  request["target"] = live["target"];
  EXPECT_EQ(answer(engine, request)["data"]["outputs"], live["data"]["outputs"]);
  request["target"] = {(live["target"][0].get<int64_t>() + 1) % 3};
  EXPECT_NE(answer(engine, request)["data"]["outputs"], live["data"]["outputs"]);
  request["target"] = {3};
  EXPECT_EQ(error(engine, request), "target: expected one label in [0, 3), got [3]");
}

TEST(LiveEngine, RefusesImageModels) {
  const TemporaryFolder folder;
  models::save(folder.path(),
               models::Vit({.image_size = {8}, .patch_size = {4}, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12}));
  LiveEngine engine;
  EXPECT_EQ(error(engine, {{"call", "open"}, {"folder", folder.path()}}),
            fmt::format("open: {} contains a Vit, which reads images, not texts", folder.path()));
}

}  // namespace
}  // namespace tape::inspect
