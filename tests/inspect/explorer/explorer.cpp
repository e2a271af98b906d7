#include "inspect/explorer/explorer_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/custom.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "base/file.h"
#include "inspect/explorer/shared_data.h"
#include "inspect/pictures/tape_dot.h"
#include "inspect/web_page.h"
#include "nn/attention/attention_weights.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/inspect/small_models.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const PageText source{.ids = {4, 8, 2}, .tokens = {"vier", "acht", "<eos>"}};
const PageText target{.ids = {5, 6}, .tokens = {"four", "eight"}};

Study translation(models::Transformer& model) {
  return study(model, source, target, {.logits = {{.position = 1, .token = 6, .name = "eight"}}});
}

/// The loss for the same texts, computed directly.
Tensor plain_loss(models::Transformer& model) {
  const Tensor logits = model(tensor({{4, 8, 2}}, i64), tensor({{1, 5, 6}}, i64));
  return cross_entropy(logits, tensor({{5, 6, 2}}, i64));
}

/// The two outputs of translation(), in the explorer's scopes.
Tensors plain_outputs(models::Transformer& model) {
  const Composed composed;
  const Tensor logits = model(tensor({{4, 8, 2}}, i64), tensor({{1, 5, 6}}, i64));
  return {cross_entropy(logits, tensor({{5, 6, 2}}, i64)), select(select(select(logits, 0, 0), 0, 1), 0, 6)};
}

const Json& leaf(const Json& data, std::string_view name) {
  for (const Json& one : data["tape"]["leaves"])
    if (one["name"] == name) return one;
  ADD_FAILURE() << "no leaf " << name;
  return data["tape"]["leaves"][0];
}

TEST(Explorer, DescribesTheStudy) {
  const auto model = small_translator();
  const Json data = explorer_data(translation(*model), {.title = "Numbers"});
  EXPECT_EQ(data["title"], "Numbers");
  EXPECT_THAT(data["made_by"].get<std::string>(), testing::MatchesRegex("tapeformer [0-9.]+, .*, f32"));
  EXPECT_EQ(data["model"]["kind"], "encoder-decoder");
  EXPECT_EQ(data["model"]["class"], "Transformer");
  EXPECT_EQ(data["model"]["parameters"], model->parameter_count());
  EXPECT_EQ(data["model"]["tree"], nn::to_string(*model));
  EXPECT_EQ(
      data["texts"].dump(),
      R"([{"name":"source","tokens":["vier","acht","<eos>"]},{"name":"target","tokens":["<bos>","four","eight"]}])");
  ASSERT_EQ(data["outputs"].size(), 2u);
  EXPECT_EQ(data["outputs"][0]["name"], "loss");
  EXPECT_NEAR(data["outputs"][0]["value"].get<double>(), plain_loss(*model).item(), 1e-6);
  EXPECT_EQ(data["outputs"][1]["name"], "logit of \"eight\" at target 1");
  EXPECT_TRUE(data["gradcheck"].is_null());
  EXPECT_EQ(explorer_data(translation(*model))["title"], "Transformer");
  EXPECT_FALSE(explorer_data(translation(*model))["model"].contains("label_smoothing"));
  EXPECT_EQ(explorer_data(translation(*model), {.label_smoothing = 0.1})["model"]["label_smoothing"], 0.1);
}

TEST(Explorer, HasTheLeafGradientsOfABackward) {
  const auto model = small_translator();
  const Json data = explorer_data(translation(*model));
  const Tensors outputs = plain_outputs(*model);
  std::set<std::string> names;
  for (const NamedTensor& parameter : model->named_parameters()) {
    SCOPED_TRACE(parameter.name);
    const Json& shown = leaf(data, parameter.name);
    names.insert(parameter.name);
    EXPECT_EQ(shown["kind"], "parameter");
    EXPECT_EQ(shown["dtype"], "f32");
    EXPECT_TRUE(tensors_equal(tensor_of(shown["value"]), parameter.tensor.detach()));
    ASSERT_EQ(shown["gradients"].size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      const Tensor expected = grad({outputs[i]}, {parameter.tensor}, {.retain_graph = true, .allow_unused = true})[0];
      ASSERT_EQ(shown["gradients"][i].is_null(), !expected.defined());
      if (!expected.defined()) continue;
      EXPECT_TRUE(tensors_equal(tensor_of(shown["gradients"][i]), expected));
    }
  }
  for (const Json& one : data["tape"]["leaves"])
    if (!names.contains(one["name"].get<std::string>())) {
      EXPECT_EQ(one["kind"], "constant");
      for (const Json& gradient : one["gradients"]) EXPECT_TRUE(gradient.is_null());
    }
}

TEST(Explorer, ListsTheTapeInRecordingOrder) {
  const auto model = small_translator();
  const Json data = explorer_data(translation(*model)), &nodes = data["tape"]["nodes"];
  const std::string loss = nodes[data["tape"]["roots"][0].get<size_t>()]["operation"];
  EXPECT_EQ(loss, plain_outputs(*model)[0].impl().node->name());
  std::set<std::string> modules;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Json& node = nodes[i];
    EXPECT_EQ(node["id"], i);
    modules.insert(node["module"].get<std::string>());
    EXPECT_EQ(node["contributions"].size(), node["inputs"].size());
    EXPECT_EQ(node["formula"]["backward"].size(), node["inputs"].size());
    EXPECT_GT(node["forward_us"].get<double>(), 0);
    for (const Json& input : node["inputs"]) EXPECT_LT(input.value("node", int64_t{-1}), static_cast<int64_t>(i));
    int64_t bytes = 0;
    for (const Json& saved : node["saved"]) bytes += saved["bytes"].get<int64_t>();
    EXPECT_EQ(node["saved_bytes"], bytes);
  }
  for (const char* module : {"src_embedding", "encoder.layers.1.self_attention.query",
                             "decoder.layers.0.cross_attention", "decoder.layers.1.feed_forward.linear1", "output", ""})
    EXPECT_TRUE(modules.contains(module)) << module;
}

/// Checks that the contributions to each operand sum to the operand's gradient in the page, for one of the outputs.
size_t check_contributions(const Json& data, size_t output) {
  const Json& nodes = data["tape"]["nodes"];
  std::map<std::pair<std::string, size_t>, Tensor> sums;
  size_t checked = 0;
  for (const Json& node : nodes)
    for (size_t i = 0; i < node["inputs"].size(); ++i) {
      const Json& input = node["inputs"][i];
      const Tensor part = tensor_of(node["contributions"][i][output]);
      if (!part.defined()) continue;
      const bool of_node = input.contains("node");
      Tensor& sum = sums[{of_node ? "node" : "leaf", input[of_node ? "node" : "leaf"].get<size_t>()}];
      sum = sum.defined() ? sum + part : part;
    }
  const auto check = [&](const char* what, size_t place, const Json& gradient) {
    EXPECT_EQ(gradient.is_null(), !sums.contains({what, place})) << what << " " << place;
    if (gradient.is_null() || !sums.contains({what, place})) return;
    EXPECT_TRUE(tensors_near(sums.at({what, place}), tensor_of(gradient), 1e-5)) << what << " " << place;
    ++checked;
  };
  const auto root = data["tape"]["roots"][output].get<size_t>();
  EXPECT_EQ(tensor_of(nodes[root]["outputs"][0]["gradients"][output]).item(), 1);
  EXPECT_GT(nodes[root]["backward_us"][output].get<double>(), 0);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (i != root && nodes[i]["outputs"].size() == 1) check("node", i, nodes[i]["outputs"][0]["gradients"][output]);
  for (size_t i = 0; i < data["tape"]["leaves"].size(); ++i)
    check("leaf", i, data["tape"]["leaves"][i]["gradients"][output]);
  return checked;
}

TEST(Explorer, HasContributionsThatSumToTheGradients) {
  const auto model = small_translator(nn::NormPlace::post);
  const Json data = explorer_data(translation(*model)), &nodes = data["tape"]["nodes"];
  for (const size_t output : {0u, 1u}) EXPECT_GT(check_contributions(data, output), 200u);
  // The logit does not depend on the loss.
  const auto root = data["tape"]["roots"][0].get<size_t>();
  EXPECT_TRUE(nodes[root]["outputs"][0]["gradients"][1].is_null());
}

TEST(Explorer, ShowsTheAttentionThatTheModelComputes) {
  const auto model = small_translator();
  const Json data = explorer_data(translation(*model)), &attention = data["attention"];
  std::vector<std::string> seen;
  for (const Json& one : attention)
    seen.push_back(fmt::format("{}|{}|{}|{}{}", one["module"].get<std::string>(), one["kind"].get<std::string>(),
                               one["layer"].get<int>(), one["rows"].get<int>(), one["columns"].get<int>()));
  EXPECT_THAT(
      seen,
      ElementsAre("encoder.layers.0.self_attention|encoder self|0|00",
                  "encoder.layers.1.self_attention|encoder self|1|00",
                  "decoder.layers.0.self_attention|decoder self|0|11", "decoder.layers.0.cross_attention|cross|0|10",
                  "decoder.layers.1.self_attention|decoder self|1|11", "decoder.layers.1.cross_attention|cross|1|10"));
  const nn::MultiHeadAttention& cross = *model->decoder->layers[1]->cross_attention;
  const nn::AttentionWeights all(*model);
  plain_loss(*model);
  const Json& last = attention[5];
  EXPECT_TRUE(tensors_near(tensor_of(last["values"]["probabilities"]), all.of(cross)[0], 1e-6));
  for (const Json& one : attention) {
    SCOPED_TRACE(one["module"].get<std::string>());
    EXPECT_EQ(one["heads"], 2);
    EXPECT_EQ(one["scale"], 0.5);
    const Json& values = one["values"];
    const Tensor query = tensor_of(values["query"]), key = tensor_of(values["key"]),
                 probabilities = tensor_of(values["probabilities"]), mask = tensor_of(values["mask"]),
                 scores = tensor_of(values["scores"]);
    EXPECT_EQ(query.shape(), (Shape{2, 3, 4}));
    EXPECT_TRUE(tensors_near(sum(probabilities, -1), ones({2, 3}), 1e-6));
    EXPECT_TRUE(tensors_near(matmul(query, key, {.transpose_b = true}) * 0.5, scores, 1e-5));
    EXPECT_TRUE(tensors_near(softmax(mask.defined() ? scores + mask : scores, -1), probabilities, 1e-6));
    EXPECT_TRUE(tensors_near(matmul(probabilities, tensor_of(values["value"])), tensor_of(values["context"]), 1e-6));
    if (one["kind"] == "decoder self") {
      EXPECT_EQ(mask.to_vector<float>()[1], -INFINITY);
    }
    // The backward of softmax, for each output.
    ASSERT_EQ(one["gradients"].size(), 2u);
    for (const Json& gradients : one["gradients"]) {
      const Tensor g = tensor_of(gradients["probabilities"]);
      const Tensor expected = probabilities * (g - sum(g * probabilities, -1, Dims::keep));
      EXPECT_TRUE(tensors_near(tensor_of(gradients["scores"]), expected, 1e-6));
      EXPECT_GT(max(abs(g)).item(), 0);
    }
  }
  // A logit at position 1 does not depend on the query at position 2.
  const Tensor query = tensor_of(attention[5]["gradients"][1]["query"]);
  EXPECT_EQ(max(abs(slice(query, 1, {.start = 2}))).item(), 0);
  EXPECT_GT(max(abs(slice(query, 1, {.start = 1, .end = 2}))).item(), 0);
}

TEST(Explorer, ShowsTheLayerNormsOfTheTape) {
  const auto model = small_translator();
  const Json data = explorer_data(translation(*model)), &nodes = data["tape"]["nodes"];
  size_t found = 0;
  for (const Json& norm : data["layer_norms"]) {
    const std::string module = norm["module"];
    SCOPED_TRACE(module);
    EXPECT_EQ(norm["text"], module.starts_with("decoder") ? 1 : 0);
    EXPECT_NEAR(norm["eps"].get<double>(), 1e-5, 1e-12);
    EXPECT_TRUE(
        tensors_equal(tensor_of(norm["weight"]), tensor_of(leaf(data, fmt::format("{}.weight", module))["value"])));
    // The contributions that its steps on the tape send out of the module sum to the gradient of its input.
    Tensor sum;
    for (const Json& node : nodes)
      for (size_t i = 0; i < node["inputs"].size(); ++i) {
        if (node["module"] != module || !node["inputs"][i].contains("node")) continue;
        if (nodes[node["inputs"][i]["node"].get<size_t>()]["module"] == module) continue;
        const Tensor part = tensor_of(node["contributions"][i][0]);
        sum = sum.defined() ? sum + part : part;
      }
    ASSERT_TRUE(sum.defined());
    const Tensor expected = reshape(sum, Shape{3, 8});
    EXPECT_TRUE(tensors_near(tensor_of(norm["gradient_input"][0]), expected, 1e-5));
    EXPECT_GT(max(abs(expected)).item(), 1e-4);
    ASSERT_EQ(norm["gradient_output"].size(), 2u);
    EXPECT_EQ(shape_of(norm["gradient_output"][1]), (Shape{3, 8}));
    ++found;
  }
  EXPECT_EQ(found, 2u * 2 + 2 * 3 + 2);
}

TEST(Explorer, LeavesTheModelUnchanged) {
  const auto model = small_translator();
  model->zero_grad();
  const Tensor before = plain_loss(*model);
  explorer_data(translation(*model));
  for (const NamedTensor& parameter : model->named_parameters())
    EXPECT_FALSE(parameter.tensor.grad().defined()) << parameter.name;
  EXPECT_EQ(plain_loss(*model).item(), before.item());
  EXPECT_THROW(explorer_data(study(*model, {.ids = {99}}, target)), Error);
  EXPECT_EQ(plain_loss(*model).item(), before.item()) << "an error leaves no hook behind";
  const NoGrad no_grad;
  EXPECT_EQ(explorer_data(translation(*model))["outputs"].size(), 2u) << "in a NoGrad scope as well";
}

TEST(Explorer, TruncatesLargeTensors) {
  manual_seed(5);
  nn::Linear layer(60, 80);
  const Tensor x = sample_normal({2, 60}).to(f32);
  const Study large = study(layer, [&] { return sum(square(layer(x))); });
  EXPECT_FALSE(leaf(explorer_data(large), "weight")["value"].contains("cut"));
  const Json data = explorer_data(large, {.elements = 24 * 24});
  const Json& weight = leaf(data, "weight");
  EXPECT_EQ(weight["value"]["shape"].dump(), "[80,60]");
  EXPECT_EQ(weight["value"]["cut"].dump(), "[24,24]");
  EXPECT_EQ(weight["gradients"][0]["cut"].dump(), "[24,24]");
  EXPECT_TRUE(
      tensors_equal(tensor_of(weight["value"]), slice(slice(layer.weight.detach(), 0, {.end = 24}), 1, {.end = 24})));
  EXPECT_NEAR(weight["value"]["norm"].get<double>(), std::sqrt(sum(square(layer.weight)).item()), 1e-4);
  EXPECT_NEAR(weight["value"]["high"].get<double>(), max(layer.weight).item(), 1e-6);
  EXPECT_NEAR(weight["value"]["low"].get<double>(), -max(neg(layer.weight)).item(), 1e-6);
  // Parameters are truncated before activations.
  const Json fewer = explorer_data(large, {.bytes = 24'000});
  EXPECT_LT(leaf(fewer, "weight")["value"]["cut"][0].get<int64_t>(), 60);
  for (const Json& node : fewer["tape"]["nodes"])
    EXPECT_FALSE(node["outputs"][0]["value"].contains("cut")) << node["operation"];
  EXPECT_LE(share_repeated_data(fewer).dump().size(), 25'000u);
  const Json most = explorer_data(large, {.bytes = 24'000, .detail = {"*"}});
  EXPECT_FALSE(leaf(most, "weight")["value"].contains("cut"));
}

TEST(Explorer, StoresTheModulesOfTheDetailInFull) {
  const auto model = small_translator();
  const auto cut = [&](const Json& data, const std::string& name) {
    return leaf(data, name)["gradients"][0].contains("cut");
  };
  const Json data = explorer_data(translation(*model), {.elements = 20, .detail = {"*.cross_attention"}});
  EXPECT_FALSE(cut(data, "decoder.layers.1.cross_attention.query.weight"));
  EXPECT_TRUE(cut(data, "decoder.layers.1.self_attention.query.weight"));
  for (const Json& node : data["tape"]["nodes"])
    if (node["module"].get<std::string>().find("cross_attention") != std::string::npos) {
      EXPECT_FALSE(node["outputs"][0]["value"].contains("cut")) << node["id"];
    }
  EXPECT_TAPE_ERROR(explorer_data(translation(*model), {.detail = {"decoder.layers.7"}}), ErrorKind::config,
                    "explorer: no module matches the detail \"decoder.layers.7\"; outer modules: decoder, "
                    "decoder.layers.0, decoder.layers.1, decoder.norm, encoder, encoder.layers.0, encoder.layers.1, "
                    "encoder.norm, output, positions, and 2 more");
}

TEST(Explorer, PropagatesTokenAndHeadAxes) {
  const auto model = small_translator();
  const Json data = explorer_data(translation(*model));
  std::set<std::string> seen;
  for (const Json& node : data["tape"]["nodes"])
    if (node["module"] == "decoder.layers.0.cross_attention" || node["operation"] == "log_softmax" ||
        node["operation"] == "slice")
      seen.insert(node["operation"].get<std::string>() + " " + node["outputs"][0]["axes"].dump());
  for (const char* axes :
       {R"(softmax [null,"heads",{"text":1},{"text":0}])", R"(permute [null,"heads",{"text":0},null])",
        R"(permute [null,{"text":1},"heads",null])", R"(reshape [null,{"text":1},null])",
        R"(log_softmax [null,{"text":1},"vocabulary"])", R"(slice [{"text":1,"start":1},"vocabulary"])"})
    EXPECT_TRUE(seen.contains(axes)) << axes << " in " << Json(seen).dump();
}

TEST(Explorer, KeepsTheTargetsAndLikeliestTokensOfALargeVocabulary) {
  manual_seed(3);
  models::Gpt model({.vocab = 300, .d_model = 8, .layers = 1, .heads = 2, .max_length = 6, .dropout = 0});
  model.eval();
  const Study made =
      study(model, {.ids = {1, 299, 5, 298}}, {.token = [](int64_t id) { return fmt::format("t{}", id); }});
  const Json data = explorer_data(made);
  const Json& shown = data["predictions"][0];
  EXPECT_EQ(shown["targets"].dump(), "[299,5,298]");
  EXPECT_EQ(shown["names"]["299"], "t299");
  EXPECT_EQ(shown["text"], 0);
  const NoGrad no_grad;
  const Tensor logits = slice(select(model(tensor({{1, 299, 5, 298}}, i64)), 0, 0), 0, {.end = 3});
  const Tensor kept = tensor_of(shown["logits"]), expected = softmax(logits, -1);
  const auto tokens = shown["tokens"].get<std::vector<int64_t>>();
  ASSERT_EQ(kept.shape(), (Shape{3, 11}));
  for (int64_t row = 0; row < 3; ++row) {
    double loss = 0;
    for (int64_t i = 0; i < 11; ++i) {
      const int64_t token = tokens[static_cast<size_t>(row * 11 + i)];
      const double logit = kept[row][i].item(),
                   p = std::exp(logit - shown["log_sums"][static_cast<size_t>(row)].get<double>());
      EXPECT_NEAR(p, expected[row][token].item(), 1e-6);
      const bool is_target = token == shown["targets"][static_cast<size_t>(row)];
      EXPECT_NEAR(tensor_of(shown["gradients"][0])[row][i].item(), (p - (is_target ? 1 : 0)) / 3, 1e-6);
      if (is_target) loss = -std::log(p);
    }
    EXPECT_GT(loss, 0) << "the target is among the tokens";
  }
  // Of the scores on the tape only the columns that the page can show are stored.
  const Json& node = data["tape"]["nodes"][shown["node"].get<size_t>()]["outputs"][0];
  ASSERT_TRUE(node["value"].contains("columns"));
  const auto columns = node["value"]["columns"].get<std::vector<int64_t>>();
  for (const int64_t token : tokens) EXPECT_EQ(std::count(columns.begin(), columns.end(), token), 1) << token;
  EXPECT_TRUE(tensors_near(tensor_of(node["value"])[0][1][0], logits[1][columns[0]], 1e-5));
}

TEST(Explorer, WritesRepeatedDataOnce) {
  const std::string text(40, 'a');
  const Json data =
      share_repeated_data({{"a", {{"shape", {1}}, {"data", text}}},
                           {"b", {{{"shape", {1, 1}}, {"data", text}}, {{"shape", {1}}, {"data", "short"}}}},
                           {"c", {{"shape", {1}}, {"data", "short"}}}});
  EXPECT_EQ(data["shared"].size(), 1u);
  EXPECT_EQ(data["shared"][0], text);
  EXPECT_EQ(data["a"]["data"], 0);
  EXPECT_EQ(data["b"][0]["data"], 0);
  EXPECT_EQ(data["c"]["data"], "short");
}

TEST(Explorer, ShowsAPlainFunction) {
  const Tensor x = tensor({1, 2}).requires_grad_(), w = tensor({3, 4}).requires_grad_();
  const Tensor factor = tensor({5, 6});
  const Json data = explorer_data(study([&] { return sum(exp(x * w) * factor); }, {{"x", x}}));
  EXPECT_EQ(data["model"].dump(), R"({"kind":"function","class":"function","parameters":0,"tree":""})");
  EXPECT_EQ(data["title"], "function");
  EXPECT_EQ(data["texts"].dump() + data["attention"].dump() + data["layer_norms"].dump(), "[][][]");
  std::vector<std::string> leaves, operations;
  for (const Json& one : data["tape"]["leaves"])
    leaves.push_back(fmt::format("{} {}", one["name"].get<std::string>(), one["kind"].get<std::string>()));
  EXPECT_THAT(leaves, ElementsAre("x input", "input 0 input", "constant constant"));
  for (const Json& node : data["tape"]["nodes"]) operations.push_back(node["operation"]);
  EXPECT_THAT(operations, ElementsAre("mul", "exp", "mul", "sum"));
  const Json& nodes = data["tape"]["nodes"];
  EXPECT_EQ(nodes[0]["inputs"].dump(), R"([{"leaf":0},{"leaf":1}])");
  EXPECT_EQ(nodes[2]["inputs"].dump(), R"([{"node":1,"output":0},{"leaf":2}])");
  EXPECT_EQ(nodes[0]["saved"].dump(),
            R"([{"what":"input 0","shape":[2],"bytes":8},{"what":"input 1","shape":[2],"bytes":8}])");
  EXPECT_EQ(nodes[1]["saved"].dump(), R"([{"what":"output 0","shape":[2],"bytes":8}])");
  EXPECT_EQ(nodes[1]["formula"].dump(), R"({"forward":"y [2] = exp x","backward":["dx = dy ⊙ y"]})");
  EXPECT_EQ(nodes[1]["attributes"].dump(), "{}");
  EXPECT_EQ(nodes[3]["attributes"].dump(), R"({"axes":[0],"keepdim":false})");
  EXPECT_EQ(nodes[3]["outputs"][0]["gradients"][0].dump(), R"({"shape":[],"data":"AACAPw=="})");
  EXPECT_TRUE(tensors_near(tensor_of(data["tape"]["leaves"][0]["gradients"][0]),
                           tensor({5 * 3 * std::exp(3.F), 6 * 4 * std::exp(8.F)}), 1e-5));
}

TEST(Explorer, EscapesText) {
  const auto model = small_translator();
  PageText hostile = source;
  hostile.tokens[0] = "</script><img src=x onerror=alert(1)>";
  const std::string json = json_for_html(explorer_data(study(*model, hostile, target)));
  EXPECT_EQ(json.find('<'), std::string::npos);
  EXPECT_THAT(json, HasSubstr("\\u003c/script\\u003e\\u003cimg src=x onerror=alert(1)\\u003e"));
}

TEST(Explorer, WritesASingleFile) {
  const auto model = small_translator();
  const TemporaryFolder folder;
  const std::string path = folder / "page.html";
  write_page(path, translation(*model));
  const std::string page = read_text(path);
  EXPECT_THAT(page, HasSubstr(R"("tokens":["vier","acht","\u003ceos\u003e"])"));
  EXPECT_THAT(page, testing::Not(HasSubstr("@data@")));
  EXPECT_LT(page.size(), 5'000'000u);
  EXPECT_TAPE_ERROR(write_page("/proc/nowhere/page.html", translation(*model)), ErrorKind::io,
                    "/proc/nowhere/page.html: cannot create the file: No such file or directory");
}

TEST(TapeDot, ShowsValuesAndGradientsOfEveryOperation) {
  const Tensor x = tensor({1, 2}).requires_grad_();
  const std::string text = tape_dot(study([&] { return sum(exp(x * 2)); }, {{"x", x}}));
  for (const char* label : {"x\\nf32 [2]\\nvalue 1 .. 2, mean 1.5",
                            "affine\\nscale=2, shift=0\\nf32 [2]\\nvalue 2 .. 4, mean 3\\ngradient 7.389",
                            "exp\\nf32 [2]\\nvalue 7.389 .. 54.6, mean 30.99\\ngradient 1"})
    EXPECT_THAT(text, HasSubstr(label));
  EXPECT_FALSE(x.grad().defined());
  const auto model = small_translator();
  const std::string whole = tape_dot(translation(*model));
  EXPECT_THAT(whole, HasSubstr("subgraph \"cluster_decoder.layers.1.cross_attention\""));
  EXPECT_THAT(whole, HasSubstr("scaled_dot_product_attention"));
  EXPECT_TAPE_ERROR(tape_dot({}), ErrorKind::config, "tape_dot: the study has no function to run");
  EXPECT_TAPE_ERROR(tape_dot(study([&] { return sum(x.detach()); }, {})), ErrorKind::graph,
                    "tape_dot: the loss [] has no graph: nothing it was computed from requires gradients");
}

TEST(Explorer, RefusesInvalidStudies) {
  const Tensor x = tensor({1, 2}).requires_grad_();
  EXPECT_TAPE_ERROR(explorer_data({}), ErrorKind::config, "explorer: the study has no function to run");
  EXPECT_TAPE_ERROR(explorer_data({.run = [] { return std::vector<PageOutput>(); }}), ErrorKind::config,
                    "explorer: the study's function returns no output");
  EXPECT_TAPE_ERROR(explorer_data(study([&] { return exp(x); }, {})), ErrorKind::shape,
                    "explorer: the output \"loss\" must have one element, got [2]");
  EXPECT_TAPE_ERROR(explorer_data(study([&] { return sum(x.detach()); }, {})), ErrorKind::graph,
                    "explorer: the loss [] has no graph: nothing it was computed from requires gradients");
  EXPECT_TAPE_ERROR(explorer_data(study([] { return tensor({1}).requires_grad_(); }, {})), ErrorKind::graph,
                    "explorer: the output \"loss\" is a leaf: no operation made it");
  EXPECT_TAPE_ERROR(explorer_data(study([&] { return sum(x); }, {}), {.elements = 0}), ErrorKind::config,
                    "explorer: elements must be at least 1, got 0");
}

/// y = a h, with a gradient that omits the factor a.
class Broken : public nn::Layer<Broken> {
 public:
  Broken() : inner(this, "inner", 3, 3) {}
  Tensor forward(const Tensor& x) {
    const Tensor h = inner(x);
    return custom(
        "triple", {h}, [](const Tensors& in) { return in[0] * 3; },
        [](const BackwardContext& c) -> Tensors { return {c.grad() * 2}; });
  }
  nn::Child<nn::Linear> inner;
};

TEST(Explorer, MarksOperationsThatTheGradientCheckFoundWrong) {
  manual_seed(5);
  Broken model;
  const Tensor x = sample_normal({2, 3});
  const Study broken = study(model, [&] { return sum(square(model(x.to(model.inner->weight.dtype())))); });
  const GradcheckReport report = check_gradients(broken);
  EXPECT_FALSE(report.ok());
  const Json data = explorer_data(broken, {.gradcheck = report, .address = "page.html"});
  EXPECT_EQ(data["gradcheck"]["passed"], false);
  ASSERT_EQ(data["gradcheck"]["guilty"].size(), 1u);
  const auto place = data["gradcheck"]["guilty"][0].get<size_t>();
  const Json& node = data["tape"]["nodes"][place];
  EXPECT_EQ(node["operation"], "triple");
  EXPECT_NEAR(node["guilty"]["error"].get<double>(), 1. / 3, 1e-3);
  EXPECT_THAT(node["guilty"]["text"].get<std::string>(), HasSubstr("triple"));
  EXPECT_TRUE(data["gradcheck"]["text"].get<std::string>().ends_with(
      fmt::format("its picture: page.html#view=tape&node={}\n", place)))
      << data["gradcheck"]["text"];
  EXPECT_EQ(data["gradcheck"]["rows"][0]["name"], "inner.weight");
  EXPECT_EQ(data["gradcheck"]["rows"][0]["ok"], false);
  for (const Json& other : data["tape"]["nodes"]) EXPECT_EQ(other.contains("guilty"), other["id"] == place);
}

TEST(Explorer, ChecksTheGradientsOfAModel) {
  const auto model = small_translator();
  const GradcheckReport report = check_gradients(translation(*model));
  EXPECT_TRUE(report.ok()) << report;
  // All except the key biases, to which softmax is invariant.
  EXPECT_EQ(report.variables.size(), model->named_parameters().size() - 6);
  for (const GradcheckResult& result : report.variables) EXPECT_FALSE(result.name.ends_with("key.bias"));
  EXPECT_EQ(model->output->weight.dtype(), f32);
  const Json data = explorer_data(translation(*model), {.gradcheck = report});
  EXPECT_EQ(data["gradcheck"]["passed"], true);
  EXPECT_EQ(data["gradcheck"]["guilty"].dump(), "[]");
  const Tensor x = tensor({1., 2.}, f64).requires_grad_();
  EXPECT_TRUE(check_gradients(study([&] { return sum(exp(x)); }, {{"x", x}})).ok());
}

}  // namespace
}  // namespace tape::inspect
