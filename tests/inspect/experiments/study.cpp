#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "autograd/ops.h"
#include "inspect/explorer/explorer_data.h"
#include "models/decoders/gpt.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/support/errors.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;

models::Gpt small_gpt(nn::TokenOutput output = nn::TokenOutput::logits) {
  manual_seed(4);
  return models::Gpt({.vocab = 7,
                      .d_model = 8,
                      .layers = 2,
                      .heads = 2,
                      .max_length = 6,
                      .dropout = 0,
                      .attention_dropout = 0,
                      .embedding_dropout = 0,
                      .output = output,
                      .init_std = 0.5});
}

const models::BertConfig small_bert{.vocab = 7,
                                    .d_model = 8,
                                    .layers = 1,
                                    .heads = 2,
                                    .d_ff = 6,
                                    .max_length = 6,
                                    .dropout = 0,
                                    .attention_dropout = 0,
                                    .init_std = 0.5};

std::vector<std::pair<std::string, double>> outputs(const Study& study) {
  std::vector<std::pair<std::string, double>> all;
  for (const PageOutput& output : study.run()) all.emplace_back(output.name, output.value.item());
  return all;
}

std::vector<std::string> kinds(const Json& data) {
  std::vector<std::string> all;
  for (const Json& one : data["attention"]) all.push_back(one["kind"]);
  return all;
}

TEST(Study, PredictsTheNextTokensWithAGpt) {
  models::Gpt model = small_gpt();
  const Tensor ids = tensor({{1, 2, 5, 3}}, i64), logits = model(ids);
  const Study made = study(model, {.ids = {1, 2, 5, 3}}, {.logits = {{.position = 3, .token = 6}}});
  EXPECT_EQ(made.kind, "decoder");
  EXPECT_THAT(made.texts[0].tokens, ElementsAre("1", "2", "5", "3"));
  const double loss = cross_entropy(slice(logits, 1, {.end = 3}), tensor({{2, 5, 3}}, i64)).item();
  const auto found = outputs(made);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (std::pair<std::string, double>{"loss", loss}));
  EXPECT_EQ(found[1].first, "logit of 6 at position 3");
  EXPECT_EQ(found[1].second, logits.to_vector<float>()[3 * 7 + 6]);
  EXPECT_THAT(kinds(explorer_data(made)), ElementsAre("decoder self", "decoder self"));

  models::Gpt probable = small_gpt(nn::TokenOutput::probabilities);
  EXPECT_NEAR(outputs(study(probable, {.ids = {1, 2, 5, 3}}))[0].second, loss, 1e-5);
}

TEST(Study, HasPositionLossesWhoseMeanIsTheLoss) {
  models::Gpt model = small_gpt();
  const auto found = outputs(study(model, {.ids = {1, 2, 5, 3}}, {.positions = {0, 1, 2}}));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[1].first, "loss of 2 at position 0");
  EXPECT_NEAR((found[1].second + found[2].second + found[3].second) / 3, found[0].second, 1e-6);
  EXPECT_GT(std::abs(found[1].second - found[2].second), 1e-3);
  const Json data = explorer_data(study(model, {.ids = {1, 2, 5, 3}}, {.positions = {2}}));
  EXPECT_EQ(data["predictions"][1]["start"], 2);
  EXPECT_EQ(data["predictions"][1]["targets"].dump(), "[3]");
  EXPECT_TRUE(data["predictions"][1]["gradients"][0].is_null())
      << "the loss of one position is not part of the mean's tape";
  EXPECT_TAPE_ERROR(outputs(study(model, {.ids = {1, 2, 5, 3}}, {.positions = {3}})), ErrorKind::index,
                    "study: loss at position 3, outside [0, 3) of the position");
  models::Bert bert(small_bert);
  EXPECT_TAPE_ERROR(study(bert, {.ids = {1, 0, 5}}, {.positions = {0}}), ErrorKind::config,
                    "study: a Bert without a head has no losses per position");
}

TEST(Study, UsesTheSentenceVectorOfABert) {
  manual_seed(4);
  models::Bert model(small_bert);
  // The padding id is intended: nothing is masked.
  const Tensor hidden = model(tensor({{1, 0, 5}}, i64), Mask(), tensor({{0, 0, 1}}, i64));
  const Study made = study(model, {.ids = {1, 0, 5}, .tokens = {"[CLS]", "a", "b"}, .segments = {0, 0, 1}});
  const auto found = outputs(made);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, "squared norm of the mean hidden state");
  EXPECT_NEAR(found[0].second, sum(square(mean(hidden, 1))).item(), 1e-5);
  const Json data = explorer_data(made);
  EXPECT_EQ(data["texts"].dump(), R"([{"name":"text","tokens":["[CLS]","a","b"],"segments":[0,0,1]}])");
  EXPECT_EQ(data["model"]["kind"], "encoder");
  EXPECT_THAT(kinds(data), ElementsAre("encoder self"));
  EXPECT_TRUE(data["attention"][0]["values"]["mask"].is_null());
  EXPECT_TRUE(data["attention"][0]["gradients"][0]["mask"].is_null());
  // The pooler is not used.
  for (const Json& leaf : data["tape"]["leaves"])
    EXPECT_EQ(leaf["name"].get<std::string>().find("pooler"), std::string::npos);
}

TEST(Study, PredictsTheTextsOwnTokensWithAMaskedLanguageModel) {
  manual_seed(4);
  models::MaskedLanguageModel model(small_bert);
  const Tensor ids = tensor({{1, 4, 5}}, i64), logits = model(ids, Mask());
  const auto found = outputs(study(model, {.ids = {1, 4, 5}}, {.logits = {{.position = 1, .token = 2, .name = "w"}}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].second, cross_entropy(logits, ids).item(), 1e-6);
  EXPECT_EQ(found[1].first, "logit of \"w\" at position 1");
  EXPECT_EQ(found[1].second, logits.to_vector<float>()[7 + 2]);
}

TEST(Study, UsesTheLikeliestOrTheGivenLabelOfAClassifier) {
  manual_seed(4);
  models::SequenceClassifier model({.encoder = small_bert, .num_labels = 3, .dropout = 0});
  const PageText text{.ids = {1, 4, 5}};
  const Tensor logits = model(tensor({{1, 4, 5}}, i64), Mask());
  const std::vector<float> scores = logits.to_vector<float>();
  const int64_t best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  const auto loss = [&](int64_t label) {
    return cross_entropy(logits, from_vector(std::vector<int64_t>{label}, {1})).item();
  };
  EXPECT_NEAR(outputs(study(model, text))[0].second, loss(best), 1e-6);
  for (int64_t label = 0; label < 3; ++label)
    EXPECT_NEAR(outputs(study(model, text, {.label = label}))[0].second, loss(label), 1e-6);
  const auto found = outputs(study(model, text, {.logits = {{.token = 2, .name = "bad"}}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].first, "logit of \"bad\"");
  EXPECT_EQ(found[1].second, scores[2]);
  EXPECT_TAPE_ERROR(study(model, text, {.label = 3}), ErrorKind::index, "study: label 3 is outside [0, 3)");

  models::SequenceClassifier one({.encoder = small_bert, .num_labels = 1, .dropout = 0});
  EXPECT_EQ(outputs(study(one, text))[0].first, "output");
}

TEST(Study, FollowsTheProblemTypeOfAClassifier) {
  manual_seed(4);
  using enum models::ProblemType;
  const PageText text{.ids = {1, 4, 5}};
  const auto token = [](int64_t label) { return fmt::format("L{}", label); };
  models::SequenceClassifier multi(
      {.encoder = small_bert, .num_labels = 3, .dropout = 0, .problem_type = multi_label_classification});
  const std::vector<float> scores = multi(tensor({{1, 4, 5}}, i64), Mask()).to_vector<float>();
  const Study of_label = study(multi, text, {.label = 1, .token = token});
  EXPECT_EQ(outputs(of_label)[0].first, "loss of \"L1\"");
  EXPECT_NEAR(outputs(of_label)[0].second, std::log1p(std::exp(-scores[1])), 1e-6);
  EXPECT_FALSE(of_label.run()[0].prediction) << "independent labels have no softmax";

  models::SequenceClassifier values({.encoder = small_bert, .num_labels = 2, .dropout = 0, .problem_type = regression});
  const std::vector<float> found = values(tensor({{1, 4, 5}}, i64), Mask()).to_vector<float>();
  for (int64_t label = 0; label < 2; ++label) {
    const auto output = outputs(study(values, text, {.label = label, .token = token}))[0];
    EXPECT_EQ(output.first, fmt::format("output \"L{}\"", label));
    EXPECT_EQ(output.second, found[static_cast<size_t>(label)]);
  }
}

TEST(Study, KeepsItsTargetsWhenThePredictionChanges) {
  manual_seed(4);
  const PageText text{.ids = {1, 4, 5}};
  // Negated parameters of the last layer turn the likeliest class into the least likely one.
  const auto keeps = [&](auto& model) {
    const Study made = study(model, text);
    EXPECT_EQ(made.targets, made.run()[0].prediction->targets);
    const NoGrad no_grad;
    for (const NamedTensor& parameter : model.named_parameters())
      if (parameter.name.starts_with("head.classifier.")) Tensor(parameter.tensor).copy_(-parameter.tensor);
    EXPECT_NE(study(model, text).targets, made.targets);
    EXPECT_EQ(made.run()[0].prediction->targets, made.targets);
  };
  models::SequenceClassifier of_text({.encoder = small_bert, .num_labels = 3, .dropout = 0});
  models::TokenClassifier of_tokens({.encoder = small_bert, .num_labels = 3, .dropout = 0});
  models::QuestionAnswerer answerer({.encoder = small_bert, .dropout = 0});
  keeps(of_text);
  keeps(of_tokens);
  keeps(answerer);
  EXPECT_EQ(study(of_tokens, text, {.targets = std::vector<int64_t>{2, 0, 1}}).run()[0].prediction->targets,
            (std::vector<int64_t>{2, 0, 1}));
  EXPECT_TAPE_ERROR(study(of_tokens, text, {.targets = std::vector<int64_t>{0}}), ErrorKind::config,
                    "study: 1 targets instead of 3");
  EXPECT_TAPE_ERROR(study(answerer, text, {.targets = std::vector<int64_t>{0, 3}}), ErrorKind::index,
                    "study: target 3 is outside [0, 3)");
}

TEST(Study, UsesTheLikeliestLabelOfEachToken) {
  manual_seed(4);
  models::TokenClassifier model({.encoder = small_bert, .num_labels = 3, .dropout = 0});
  const PageText text{.ids = {1, 4, 5}};
  const Tensor logits = model(tensor({{1, 4, 5}}, i64), Mask());
  const auto found =
      outputs(study(model, text, {.logits = {{.position = 1, .token = 2, .name = "who"}}, .positions = {2}}));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0].second, cross_entropy(logits, argmax(logits.detach(), -1)).item(), 1e-6);
  EXPECT_EQ(found[2].first, "logit of \"who\" at position 1");
  EXPECT_EQ(found[2].second, logits[0][1][2].item());
  // A text read instead is compared with the labels of the original.
  const Tensor other = model(tensor({{1, 2, 3}}, i64), Mask());
  EXPECT_NEAR(outputs(study(model, text, {.reads = PageText{.ids = {1, 2, 3}}}))[0].second,
              cross_entropy(other, argmax(logits.detach(), -1)).item(), 1e-6);
}

TEST(Study, UsesTheLikeliestStartAndEndOfAnAnswer) {
  manual_seed(4);
  models::QuestionAnswerer model({.encoder = small_bert, .dropout = 0});
  const PageText text{.ids = {1, 4, 5}};
  const Tensor logits = model(tensor({{1, 4, 5}}, i64), Mask()), places = argmax(logits.detach(), 1);
  const auto found = outputs(study(model, text, {.logits = {{.position = 2, .token = 1, .name = "end"}}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].second,
              model.loss(logits, reshape(places[0][0], Shape{1}), reshape(places[0][1], Shape{1})).item(), 1e-6);
  EXPECT_EQ(found[1].second, logits[0][2][1].item());
  EXPECT_TAPE_ERROR(study(model, text, {.positions = {0}}), ErrorKind::config,
                    "study: question answering has one loss for the whole text, not one per position");
}

TEST(Study, RefusesTextsAndLogitsThatDoNotFitTheModel) {
  models::Gpt model = small_gpt();
  EXPECT_TAPE_ERROR(study(model, {}), ErrorKind::config, "study: the text has no tokens");
  EXPECT_TAPE_ERROR(study(model, {.ids = {1}}), ErrorKind::config,
                    "study: a Gpt's loss needs at least 2 tokens, the text has 1");
  EXPECT_TAPE_ERROR(study(model, {.ids = {1, 2}, .tokens = {"a"}}), ErrorKind::shape,
                    "study: 1 tokens for the 2 ids of the text");
  EXPECT_TAPE_ERROR(study(model, {.ids = {1, 2}, .segments = {0, 1, 1}}), ErrorKind::shape,
                    "study: 3 segments for the 2 ids of the text");
  EXPECT_TAPE_ERROR(study(model, {.ids = {1, 2}}, {.logits = {{.position = 2}}}).run(), ErrorKind::index,
                    "study: logit at position 2, outside [0, 2) of the position");
  EXPECT_TAPE_ERROR(study(model, {.ids = {1, 2}}, {.logits = {{.token = 7}}}).run(), ErrorKind::index,
                    "study: logit of token 7, outside [0, 7)");
  models::Bert bert(small_bert);
  EXPECT_TAPE_ERROR(study(bert, {.ids = {1}}, {.logits = {{}}}), ErrorKind::config,
                    "study: a Bert without a head has no logits");
}

std::unique_ptr<models::ImageClassifier> small_image_classifier(int64_t labels) {
  manual_seed(4);
  auto model = std::make_unique<models::ImageClassifier>(models::ImageClassifierConfig{.vit = {.image_size = {4, 6},
                                                                                               .patch_size = {2},
                                                                                               .channels = 2,
                                                                                               .d_model = 8,
                                                                                               .layers = 1,
                                                                                               .heads = 2,
                                                                                               .d_ff = 6,
                                                                                               .init_std = 0.5},
                                                                                       .num_labels = labels});
  model->eval();
  return model;
}

TEST(Study, UsesTheLabelOfAnImageClassifier) {
  const auto owner = small_image_classifier(3);
  models::ImageClassifier& model = *owner;
  const Tensor pixels = randn({2, 4, 6}), logits = model(unsqueeze(pixels, 0));
  const Study made = study(model, pixels, {.logits = {{.token = 2}}, .label = 1});
  EXPECT_EQ(made.kind, "encoder");
  EXPECT_EQ(made.texts[0].name, "image");
  EXPECT_THAT(made.texts[0].tokens, ElementsAre("class", "0,0", "0,1", "0,2", "1,0", "1,1", "1,2"));
  const auto found = outputs(made);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (std::pair<std::string, double>{"loss", cross_entropy(logits, tensor({1}, i64)).item()}));
  EXPECT_EQ(found[1], (std::pair<std::string, double>{"logit of 2", double{logits.to_vector<float>()[2]}}));
  const int64_t likeliest = argmax(logits.detach(), -1).to_vector<int64_t>()[0];
  EXPECT_EQ(outputs(study(model, pixels)), outputs(study(model, unsqueeze(pixels, 0), {.label = likeliest})));

  const auto one = small_image_classifier(1);
  EXPECT_EQ(outputs(study(*one, pixels))[0].first, "output");
  EXPECT_TAPE_ERROR(study(model, pixels, {.label = 3}), ErrorKind::index, "study: label 3 is outside [0, 3)");
  EXPECT_TAPE_ERROR(study(model, pixels, {.positions = {0}}), ErrorKind::config,
                    "study: a classifier has one loss for the whole image, not one per position");
  EXPECT_TAPE_ERROR(study(model, pixels, {.reads = PageText{.ids = {1}}}), ErrorKind::config,
                    "study: a ImageClassifier reads an image, not a text");
  EXPECT_TAPE_ERROR(study(model, zeros({2, 4, 6}, u8)), ErrorKind::dtype,
                    "study: pixels must be floating point, like pixel_values in transformers, got u8");
  EXPECT_TAPE_ERROR(study(model, Tensor()), ErrorKind::dtype,
                    "study: pixels must be floating point, like pixel_values in transformers, got an undefined tensor");
  EXPECT_TAPE_ERROR(study(model, randn({2, 4, 4})), ErrorKind::shape,
                    "PatchEmbeddings: pixels must be [B, 2, 4, 6], got [1, 2, 4, 4]");
  EXPECT_TAPE_ERROR(study(model, randn({3, 2, 4, 6})), ErrorKind::shape,
                    "study: requires one image, got a batch of 3 with shape [3, 2, 4, 6]");
  std::vector<float> values(48, 0.5F);
  values[31] = NAN;
  EXPECT_TAPE_ERROR(study(model, from_vector(values, {2, 4, 6})), ErrorKind::numeric,
                    "study: the pixels contain nan at [0, 1, 1, 1] of [1, 2, 4, 6]");
  values[31] = -INFINITY;
  EXPECT_TAPE_ERROR(study(model, from_vector(values, {2, 4, 6})), ErrorKind::numeric,
                    "study: the pixels contain -inf at [0, 1, 1, 1] of [1, 2, 4, 6]");
}

TEST(Study, UsesTheMeanStateOfAVit) {
  const auto owner = small_image_classifier(2);
  models::Vit& model = *owner->vit;
  const Tensor pixels = randn({1, 2, 4, 6});
  const Tensor hidden = model(pixels);
  const auto found = outputs(study(model, pixels));
  EXPECT_EQ(found.at(0), (std::pair<std::string, double>{"squared norm of the mean hidden state",
                                                         sum(square(mean(hidden, 1))).item()}));
  EXPECT_TAPE_ERROR(study(model, pixels, {.logits = {{}}}), ErrorKind::config,
                    "study: a Vit without a head has no logits");
  EXPECT_TAPE_ERROR(study(model, pixels, {.positions = {0}}), ErrorKind::config,
                    "study: a Vit without a head has no losses per position");
}

TEST(Study, ShowsAnImageAndTheGradientOfItsPixels) {
  const auto owner = small_image_classifier(3);
  models::ImageClassifier& model = *owner;
  const Tensor pixels = randn({1, 2, 4, 6});
  const Json data = explorer_data(study(model, pixels, {.label = 1}), {});
  const Json& image = data["texts"][0]["image"];
  for (const auto& [name, size] : {std::pair("rows", 2), std::pair("columns", 3), std::pair("channels", 2),
                                   std::pair("height", 4), std::pair("width", 6)})
    EXPECT_EQ(image[name], size) << name;
  const std::vector<unsigned char> bytes = from_base64(image["pixels"]);
  const std::vector<float> values = pixels.to_vector<float>();
  ASSERT_EQ(bytes.size(), values.size());
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(bytes[i], std::lround((double{values[i]} - *low) * (255 / (double{*high} - *low)))) << i;

  const Json& leaves = data["tape"]["leaves"];
  const auto leaf = std::ranges::find_if(leaves, [](const Json& one) { return one["name"] == "pixels"; });
  ASSERT_NE(leaf, leaves.end());
  const Tensor x = pixels.clone().requires_grad_();
  const Composed composed;
  const Tensor expected = grad({cross_entropy(model(x), tensor({1}, i64))}, {x})[0];
  EXPECT_EQ(tensor_of((*leaf)["gradients"][0]).to_vector<float>(), expected.to_vector<float>());

  // Pixels of another dtype are cast to the model's.
  const Json in_double = explorer_data(study(model, pixels.to(f64), {.label = 1}), {});
  EXPECT_EQ(in_double["tape"]["leaves"], leaves);

  // The class token and the patches are the positions that the encoder reads.
  const Json& nodes = data["tape"]["nodes"];
  const auto encoder = std::ranges::find_if(
      nodes, [](const Json& node) { return node["module"].get<std::string>().starts_with("vit.encoder"); });
  ASSERT_NE(encoder, nodes.end());
  EXPECT_EQ((*encoder)["outputs"][0]["axes"].dump(), R"([null,{"text":0},null])");
  EXPECT_EQ(kinds(data), std::vector<std::string>{"encoder self"});
  // Equal pixels leave no range to scale to bytes.
  const Json flat = explorer_data(study(model, full({2, 4, 6}, 3)), {});
  EXPECT_EQ(from_base64(flat["texts"][0]["image"]["pixels"]), std::vector<unsigned char>(48, 0));
}

TEST(Study, ChecksTheGradientsOfAnImageModel) {
  const auto owner = small_image_classifier(3);
  models::ImageClassifier& model = *owner;
  const Study made = study(model, randn({2, 4, 6}));
  EXPECT_TRUE(check_gradients(made).ok());
  // The tape in f64 is the same as in f32.
  const Json data = explorer_data(made, {.nudges = NudgeOptions{}});
  EXPECT_EQ(data["nudges"]["dtype"], "f64");
}

}  // namespace
}  // namespace tape::inspect
