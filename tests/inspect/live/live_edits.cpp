#include "inspect/live/live_edits.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/ops.h"
#include "base/short_list.h"
#include "inspect/experiments/patch.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/explorer/frames.h"
#include "models/decoders/gpt.h"
#include "models/encoders/bert.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/inspect/small_models.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::inspect {
namespace {

const PageText source{.ids = {4, 8, 2}, .tokens = {"vier", "acht", "<eos>"}};
const PageText target{.ids = {5, 6}, .tokens = {"four", "eight"}};
constexpr const char* kCross = "decoder.layers.1.cross_attention";
constexpr const char* kSelf = "decoder.layers.0.self_attention";

std::vector<LiveEdit> edits_of(const Json& list) {
  const Json request{{"edits", list}};
  return parse_live_edits(LiveRequest(request, ""));
}

std::vector<RecordedOp> run_of(const Study& study) {
  const EnableGrad recording;
  const Composed composed;
  OpRecorder steps;
  study.run();
  return std::move(steps.all());
}

/// The last softmax of a module.
const RecordedOp& softmax_of(const std::vector<RecordedOp>& steps, const std::string& module) {
  const RecordedOp* found = nullptr;
  for (const RecordedOp& step : steps)
    if (step.module == module && is_attention_weights(step)) found = &step;
  return *found;
}

double element(const Tensor& x, const std::vector<int64_t>& index) {
  int64_t flat = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) flat = flat * x.shape()[static_cast<int64_t>(axis)] + index[axis];
  return values_of(x)[static_cast<size_t>(flat)];
}

/// Edits for the values that the unedited function has.
using MakeEdits = std::function<Json(const std::vector<RecordedOp>& clean)>;

double edited_loss(const Study& study, const MakeEdits& make) {
  const EditedStudy edited(study, edits_of(make(run_of(study))));
  const Composed composed;
  return edited.study().run()[0].value.item();
}

/// Compares gradients of every parameter with central differences, at up to two elements of each.
void expect_gradients(const Study& study, const MakeEdits& make) {
  const RunInF64 in_double(study.module);
  std::map<std::string, std::vector<double>> gradients;
  {
    const EditedStudy edited(study, edits_of(make(run_of(study))));
    const Composed composed;
    Tensors parameters = study.module->parameters();
    const Tensors found = grad({edited.study().run()[0].value}, parameters, {.allow_unused = true});
    size_t next = 0;
    for (const NamedTensor& named : study.module->named_parameters()) {
      gradients[named.name] = found[next].defined() ? values_of(found[next])
                                                    : std::vector<double>(static_cast<size_t>(named.tensor.numel()));
      ++next;
    }
  }
  double moved = 0;
  for (const NamedTensor& named : study.module->named_parameters()) {
    Tensor parameter = named.tensor;
    const int64_t step = std::max<int64_t>(parameter.numel() / 2, 1);
    for (int64_t i = step / 2; i < parameter.numel(); i += step) {
      constexpr double h = 1e-5;
      double* const value = parameter.detach().mutable_data<double>() + i;
      const double at = *value;
      *value = at + h;
      const double above = edited_loss(study, make);
      *value = at - h;
      const double below = edited_loss(study, make);
      *value = at;
      const double expected = (above - below) / (2 * h), got = gradients[named.name][static_cast<size_t>(i)];
      moved = std::max(moved, std::abs(expected));
      EXPECT_NEAR(got, expected, 1e-7 + 1e-6 * std::abs(expected)) << named.name << " " << i;
    }
  }
  EXPECT_GT(moved, 1e-3);
}

Json score_edit(const std::vector<RecordedOp>& clean, const char* module, const char* kind) {
  const RecordedOp& softmax = softmax_of(clean, module);
  const double now = element(std::string(kind) == "weight" ? softmax.output : softmax.input, {0, 1, 1, 0});
  return {{{"kind", kind}, {"module", module}, {"head", 1}, {"query", 1}, {"key", 0}, {"value", now + 0.4}}};
}

TEST(LiveEdits, HaveTheGradientsOfTheEditedFunction) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const std::map<std::string, MakeEdits> all{
      {"score", [](const auto& clean) { return score_edit(clean, kCross, "score"); }},
      {"score with a mask", [](const auto& clean) { return score_edit(clean, kSelf, "score"); }},
      {"weight", [](const auto& clean) { return score_edit(clean, kCross, "weight"); }},
      {"mask",
       [](const auto&) {
         return Json{{{"kind", "mask"}, {"module", kCross}, {"query", 1}, {"key", 2}}};
       }},
      {"mask of one head, causal",
       [](const auto&) {
         return Json{{{"kind", "mask"}, {"module", kSelf}, {"head", 0}, {"query", 2}, {"key", 1}}};
       }},
      {"temperature",
       [](const auto&) {
         return Json{{{"kind", "temperature"}, {"module", kCross}, {"value", 0.3}}};
       }},
      {"temperature of one head",
       [](const auto&) {
         return Json{{{"kind", "temperature"}, {"module", kSelf}, {"head", 1}, {"value", 2.5}}};
       }},
      {"ablate",
       [](const auto&) {
         return Json{{{"kind", "ablate"}, {"module", kCross}, {"head", 1}}};
       }},
      {"position",
       [](const auto&) {
         return Json{{{"kind", "position"}, {"text", 1}, {"token", 1}, {"position", 6}}};
       }},
      {"value",
       [](const auto& clean) {
         const double now =
             element(clean[20].output, std::vector<int64_t>(static_cast<size_t>(clean[20].output.rank())));
         return Json{{{"kind", "value"},
                      {"recorded", 20},
                      {"index", std::vector<int64_t>(static_cast<size_t>(clean[20].output.rank()))},
                      {"value", now - 0.7}}};
       }},
      {"several at one place",
       [](const auto&) {
         return Json{{{"kind", "temperature"}, {"module", kCross}, {"value", 0.5}},
                     {{"kind", "temperature"}, {"module", kCross}, {"head", 0}, {"value", 3}},
                     {{"kind", "mask"}, {"module", kCross}, {"query", 0}, {"key", 0}}};
       }},
  };
  for (const auto& [name, make] : all) {
    SCOPED_TRACE(name);
    expect_gradients(study, make);
  }
}

TEST(LiveEdits, LearnedPositionsPassTheirGradientToTheOtherRow) {
  manual_seed(2);
  models::Gpt model({.vocab = 6, .d_model = 8, .layers = 1, .heads = 2, .max_length = 7});
  model.eval();
  const Study study = inspect::study(model, {.ids = {1, 3, 2, 5}});
  expect_gradients(study, [](const auto&) {
    return Json{{{"kind", "position"}, {"text", 0}, {"token", 1}, {"position", 5}}};
  });
}

/// explorer_data() without times.
Json data_of(const Study& study) {
  Json data = explorer_data(study);
  for (Json& node : data["tape"]["nodes"]) node.erase("forward_us"), node.erase("backward_us");
  return data;
}

const Json& attention_of(const Json& data, const std::string& module) {
  for (const Json& one : data["attention"])
    if (one["module"] == module) return one;
  ADD_FAILURE() << module;
  return data["attention"][0];
}

TEST(LiveEdits, AnEmptyListChangesNoBit) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const EditedStudy edited(study, {});
  EXPECT_EQ(data_of(edited.study()), data_of(study));
}

TEST(LiveEdits, AreUndoneAtTheEndOfTheScope) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const Json before = data_of(study);
  {
    const EditedStudy edited(study,
                             edits_of({{{"kind", "parameter"}, {"name", "output.bias"}, {"index", {5}}, {"value", 3}},
                                       {{"kind", "ablate"}, {"module", kCross}, {"head", 0}}}));
    EXPECT_NE(data_of(edited.study()), before);
  }
  EXPECT_EQ(data_of(study), before);
}

TEST(LiveEdits, AttentionFollowsEveryEdit) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const Json clean = attention_of(data_of(study), kCross);
  const Tensor scores = tensor_of(clean["values"]["scores"]), weights = tensor_of(clean["values"]["probabilities"]);
  const auto attention = [&](const Json& edits, const char* module = kCross) {
    const EditedStudy edited(study, edits_of(edits));
    return attention_of(data_of(edited.study()), module);
  };
  // [H, Tq, Tk] with one element changed
  const auto with = [](const Tensor& x, int64_t head, int64_t query, int64_t key, double value) {
    Tensor y = x.clone();
    y.mutable_data<float>()[(head * x.size(1) + query) * x.size(2) + key] = static_cast<float>(value);
    return y;
  };

  Json got =
      attention({{{"kind", "score"}, {"module", kCross}, {"head", 1}, {"query", 2}, {"key", 0}, {"value", 1.5}}});
  const Tensor edited = with(scores, 1, 2, 0, 1.5);
  EXPECT_TRUE(tensors_equal(tensor_of(got["values"]["scores"]), edited));
  EXPECT_TRUE(tensors_near(tensor_of(got["values"]["probabilities"]), softmax(edited, -1), 1e-6));

  got = attention({{{"kind", "weight"}, {"module", kCross}, {"head", 0}, {"query", 1}, {"key", 2}, {"value", 0.9}}});
  EXPECT_TRUE(tensors_equal(tensor_of(got["values"]["scores"]), scores));
  EXPECT_TRUE(tensors_equal(tensor_of(got["values"]["probabilities"]), with(weights, 0, 1, 2, 0.9)));

  got = attention({{{"kind", "temperature"}, {"module", kCross}, {"head", 1}, {"value", 0.5}}});
  EXPECT_TRUE(
      tensors_near(tensor_of(got["values"]["probabilities"]), softmax(scores * tensor({{{1.f}}, {{2.f}}}), -1), 1e-6));

  got = attention({{{"kind", "mask"}, {"module", kCross}, {"query", 1}, {"key", 2}}});
  const double low = -INFINITY;
  EXPECT_TRUE(tensors_near(tensor_of(got["values"]["probabilities"]),
                           softmax(with(with(scores, 0, 1, 2, low), 1, 1, 2, low), -1), 1e-6));
  EXPECT_TRUE(tensors_equal(tensor_of(got["values"]["mask"]), with(zeros({1, 3, 3}), 0, 1, 2, low)))
      << "shown like any mask";

  got = attention({{{"kind", "ablate"}, {"module", kCross}, {"head", 1}}});
  EXPECT_TRUE(tensors_equal(tensor_of(got["values"]["probabilities"]), weights * tensor({{{1.f}}, {{0.f}}})));
}

TEST(LiveEdits, AValueInsideOfAttentionIsShownThere) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const std::vector<RecordedOp> clean = run_of(study);
  const RecordedOp& softmax = softmax_of(clean, kCross);
  const int64_t place = &softmax - clean.data();
  const EditedStudy edited(
      study, edits_of({{{"kind", "value"}, {"recorded", place}, {"index", {0, 1, 0, 2}}, {"value", 0.25}}}));
  const Json attention = attention_of(data_of(edited.study()), kCross);
  EXPECT_EQ(element(tensor_of(attention["values"]["probabilities"]), {1, 0, 2}), 0.25);
}

TEST(LiveEdits, AnAblatedHeadHasTheLossOfACut) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const Frame cut = record_frame(study, "cut", HeadAblation{.module = kCross, .head = 1});
  EXPECT_EQ(edited_loss(study,
                        [](const auto&) {
                          return Json{{{"kind", "ablate"}, {"module", kCross}, {"head", 1}}};
                        }),
            cut.outputs[0].value.item());
}

TEST(LiveEdits, AParameterIsThatOfTheTape) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const EditedStudy edited(study,
                           edits_of({{{"kind", "parameter"}, {"name", "output.bias"}, {"index", {5}}, {"value", 3}},
                                     {{"kind", "parameter"}, {"name", "output.bias"}, {"index", {1}}, {"value", -2}}}));
  const Json data = data_of(edited.study());
  Tensor bias = model->output->bias;  // the edited one while in scope
  EXPECT_EQ(element(bias, {5}), 3);
  EXPECT_EQ(element(bias, {1}), -2);
  for (const Json& leaf : data["tape"]["leaves"]) {
    if (leaf["name"] != "output.bias") continue;
    EXPECT_TRUE(tensors_equal(tensor_of(leaf["value"]), bias.detach()));
  }
}

TEST(LiveEdits, AMovedTokenReadsTheOtherRowOfTheTable) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const double got = edited_loss(study, [](const auto&) {
    return Json{{{"kind", "position"}, {"text", 1}, {"token", 1}, {"position", 6}}};
  });
  const NoGrad no_grad;
  const Composed composed;
  const Tensor src = tensor({{4, 8, 2}}, i64), memory = model->encode(src);
  Tensor table = (*model->positions)->table;
  put_slice_(table, 0, 1, slice(table, 0, {.start = 6, .end = 7}).clone());
  const Tensor logits = model->decode(tensor({{1, 5, 6}}, i64), memory, src);
  EXPECT_NEAR(got, cross_entropy(logits, tensor({{5, 6, 2}}, i64)).item(), 1e-6);
}

TEST(LiveEdits, RefusesWhatDoesNotExist) {
  const auto model = small_translator();
  const Study study = inspect::study(*model, source, target);
  const auto run = [&](const Json& edit) { return EditedStudy(study, edits_of(Json::array({edit}))); };
  const std::string modules =
      "encoder.layers.0.self_attention, encoder.layers.1.self_attention, decoder.layers.0.self_attention, "
      "decoder.layers.0.cross_attention, decoder.layers.1.self_attention, decoder.layers.1.cross_attention";
  EXPECT_TAPE_ERROR(
      run({{"kind", "swap"}}), ErrorKind::config,
      "edits[0].kind: unknown kind \"swap\"; known are parameter, value, score, weight, mask, temperature, "
      "position, ablate");
  EXPECT_TAPE_ERROR(run({{"kind", "ablate"}, {"module", kCross}}), ErrorKind::config, "edits[0].head: required");
  EXPECT_TAPE_ERROR(run({{"kind", "ablate"}, {"module", kCross}, {"head", 1.5}}), ErrorKind::config,
                    "edits[0].head: expected an integer, got 1.5");
  EXPECT_TAPE_ERROR(run({{"kind", "ablate"}, {"module", "decoder"}, {"head", 1}}), ErrorKind::config,
                    "edits[0].module: \"decoder\" has no attention weights; modules that do: " + modules);
  EXPECT_TAPE_ERROR(run({{"kind", "ablate"}, {"module", kCross}, {"head", 2}}), ErrorKind::index,
                    "edits[0].head: 2 is outside [0, 2) of decoder.layers.1.cross_attention");
  const auto score = [](int64_t query, int64_t key) {
    return Json{{"kind", "score"}, {"module", kCross}, {"head", 0}, {"query", query}, {"key", key}, {"value", 1}};
  };
  EXPECT_TAPE_ERROR(run(score(3, 0)), ErrorKind::index,
                    "edits[0].query: 3 is outside [0, 3) of decoder.layers.1.cross_attention");
  EXPECT_TAPE_ERROR(run(score(0, -1)), ErrorKind::index,
                    "edits[0].key: -1 is outside [0, 3) of decoder.layers.1.cross_attention");
  EXPECT_TAPE_ERROR(
      run({{"kind", "mask"}, {"module", kSelf}, {"query", 0}, {"key", 0}}), ErrorKind::config,
      "edits[0].key: without key 0, query 0 of head 0 of decoder.layers.0.self_attention has no key left");
  EXPECT_TAPE_ERROR(run({{"kind", "temperature"}, {"module", kSelf}, {"value", 0}}), ErrorKind::config,
                    "edits[0].value: must be greater than 0, got 0");
  EXPECT_TAPE_ERROR(run({{"kind", "parameter"}, {"name", "output.bias"}, {"index", {7}}, {"value", 0}}),
                    ErrorKind::index, "edits[0].index: [7] is outside [7] of output.bias");
  EXPECT_TAPE_ERROR(run({{"kind", "parameter"}, {"name", "output.bias"}, {"index", {1, 1}}, {"value", 0}}),
                    ErrorKind::index, "edits[0].index: [1, 1] has 2 entries, but output.bias is [7]");
  std::vector<std::string> names;
  for (const NamedTensor& parameter : model->named_parameters()) names.push_back(parameter.name);
  EXPECT_TAPE_ERROR(run({{"kind", "parameter"}, {"name", "bias"}, {"index", {7}}, {"value", 0}}), ErrorKind::config,
                    "edits[0].name: no parameter \"bias\"; there are " + short_list(names));
  EXPECT_TAPE_ERROR(run({{"kind", "value"}, {"recorded", 9999}, {"index", {0}}, {"value", 0}}), ErrorKind::index,
                    fmt::format("edits[0].recorded: 9999 is outside [0, {}) of the operations", run_of(study).size()));
  const auto position = [](int64_t text, int64_t token, int64_t place) {
    return Json{{"kind", "position"}, {"text", text}, {"token", token}, {"position", place}};
  };
  EXPECT_TAPE_ERROR(run(position(2, 0, 0)), ErrorKind::index, "edits[0].text: 2 is outside [0, 2) of the texts");
  EXPECT_TAPE_ERROR(run(position(1, 3, 0)), ErrorKind::index, "edits[0].token: 3 is outside [0, 3) of the target");
  EXPECT_TAPE_ERROR(run(position(0, 0, 8)), ErrorKind::index,
                    "edits[0].position: 8 is outside [0, 8) of the model's positions");
}

}  // namespace
}  // namespace tape::inspect
