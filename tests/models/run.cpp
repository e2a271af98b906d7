#include "models/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/shape/shape.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

std::string fixture_folder(const std::string& name) { return fixture_path(fmt::format("hugging_face/{}", name)); }

/// The tensors of expected.safetensors whose names begin with "in." or "out.".
nn::StateDict expected(const std::string& name, const std::string& prefix) {
  nn::StateDict found;
  for (const auto& [key, tensor] :
       load_safetensors(fmt::format("{}/expected.safetensors", fixture_folder(name))).tensors)
    if (key.starts_with(prefix)) found.emplace(key.substr(prefix.size()), tensor);
  return found;
}

double largest_element(const Tensor& x) {
  double most = 0;
  for (const double value : cast(x, f64).to_vector<double>()) most = std::max(most, std::abs(value));
  return most;
}

/// Adding a constant to all keys, or to all scores of an answer, has no effect, so its gradient is only rounding error,
/// measured relative to the gradient of the weight.
double scale_of(const std::string& name, const nn::StateDict& all, double tolerance) {
  const double own = largest_element(all.at(name));
  if (!name.ends_with(".bias")) return own;
  const auto weight = all.find(fmt::format("{}weight", name.substr(0, name.size() - 4)));
  const double beside = weight == all.end() ? 0 : largest_element(weight->second);
  return own < tolerance * beside ? beside : own;
}

void expect_near(const nn::StateDict& actual, const nn::StateDict& wanted, double tolerance) {
  for (const auto& [name, tensor] : wanted) {
    ASSERT_TRUE(actual.contains(name)) << name;
    ASSERT_EQ(actual.at(name).shape(), tensor.shape()) << name;
    const Tensor a = cast(actual.at(name), f64), b = cast(tensor, f64);
    double error = 0;
    for (int64_t i = 0; i < a.numel(); ++i)
      error = std::max(error, std::abs(a.data<double>()[i] - b.data<double>()[i]));
    EXPECT_LE(error, tolerance * scale_of(name, wanted, tolerance)) << name;
  }
}

/// Zeros masked positions, at which transformers may differ: of outputs [B, T] or [B, T, C], and of the queries of
/// [B, H, T, T].
nn::StateDict seen(nn::StateDict tensors, const nn::StateDict& in) {
  if (!in.contains("attention_mask")) return tensors;
  const Tensor mask = cast(in.at("attention_mask"), f64);
  for (auto& [name, tensor] : tensors) {
    const bool places = name.starts_with("hidden_states") || name == "last_hidden_state" || name == "logits";
    if (name.starts_with("attentions"))
      tensor = tensor * unsqueeze(unsqueeze(mask, 1), 3);
    else if (places && tensor.rank() == 3)
      tensor = tensor * unsqueeze(mask, 2);
    else if (name == "start_logits" || name == "end_logits")
      tensor = tensor * mask;
  }
  return tensors;
}

bool has_targets(const nn::StateDict& in) { return in.contains("labels") || in.contains("start_positions"); }

class Run : public testing::TestWithParam<std::string> {
 protected:
  const TemporaryFolder copy_;
};

TEST_P(Run, GivesTransformersOutputs) {
  const nn::StateDict in = expected(GetParam(), "in."), out = expected(GetParam(), "out.");
  ASSERT_GE(out.size(), 4u);
  const AnyModel model = load_model(fixture_folder(GetParam()));
  const bool doubles = module_of(model).parameters().front().dtype() == f64;
  const bool encoder = GetParam().starts_with("encoders/");
  const nn::StateDict actual = run(model, in, {.gradients = has_targets(in)});
  expect_near(encoder ? seen(actual, in) : actual, out, doubles ? 1e-12 : 2e-6);
}

TEST_P(Run, GivesTheSameAfterSavingAndLoading) {
  const nn::StateDict in = expected(GetParam(), "in.");
  const RunOptions options{.gradients = has_targets(in)};
  const AnyModel model = load_model(fixture_folder(GetParam()));
  const nn::StateDict before = run(model, in, options);
  for (const int64_t bytes : {int64_t{1} << 40, int64_t{1500}}) {
    save(copy_.path(), model, {.max_shard_bytes = bytes});
    EXPECT_EQ(std::filesystem::exists(copy_ / "model.safetensors"), bytes > 1500);
    const nn::StateDict after = run(load_model(copy_.path()), in, options);
    ASSERT_EQ(after.size(), before.size());
    for (const auto& [name, tensor] : before) EXPECT_TRUE(tensors_equal(after.at(name), tensor)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, Run,
                         testing::Values("bert", "bert_masked", "bert_classifier", "gpt2", "marian", "m2m100",
                                         "half_in_shards", "bfloat", "llama", "llama_biases", "mistral", "qwen2",
                                         "qwen3", "gpt_neox", "vit", "vit_classifier", "bart", "mbart", "t5",
                                         "t5_gated", "mt5"),
                         [](const auto& folder) { return folder.param; });

/// The folders of tests/fixtures/make_encoders.py.
std::vector<std::string> encoder_folders() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(fixture_folder("encoders")))
    names.push_back(fmt::format("encoders/{}", entry.path().filename().string()));
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Encoders, Run, testing::ValuesIn(encoder_folders()),
                         [](const auto& folder) { return folder.param.substr(std::string("encoders/").size()); });

/// The folders of tests/fixtures/make_padding.py.
class Padding : public testing::TestWithParam<std::string> {};

TEST_P(Padding, CountsAsInTransformersAtEveryPosition) {
  const auto all = load_safetensors(fixture_path("padding.safetensors")).tensors;
  const AnyModel model = load_model(fixture_folder(GetParam()));
  std::vector<std::string> places{"front", "inside", "behind", "shown", "all"};
  if (all.contains(GetParam() + ".packed.in.input_ids")) places.insert(places.end(), {"positions", "packed"});
  for (const std::string& place : places) {
    const std::string from = fmt::format("{}.{}.", GetParam(), place);
    nn::StateDict in;
    for (const auto& [name, tensor] : all)
      if (name.starts_with(from + "in.")) in[name.substr(from.size() + 3)] = tensor;
    ASSERT_GE(in.size(), 2u) << from;
    Tensor logits = run(model, in, {}).at("logits");
    if (!in.contains("decoder_input_ids") && in.contains("attention_mask"))
      logits = logits * unsqueeze(cast(in.at("attention_mask"), logits.dtype()), 2);
    EXPECT_TRUE(tensors_near(logits, all.at(from + "out.logits"), 1e-10)) << from;
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, Padding,
                         testing::Values("m2m100", "marian", "bart", "mbart", "t5", "mt5", "bert_masked",
                                         "encoders/RobertaForMaskedLM", "encoders/MPNetForMaskedLM", "gpt2", "llama",
                                         "mistral", "gpt_neox"),
                         [](const auto& folder) {
                           return folder.param.substr(folder.param.find('/') + 1);  // npos + 1 is 0
                         });

TEST(RunInputs, AreNamedIfInvalid) {
  const AnyModel bert = load_model(fixture_folder("bert_masked")), gpt = load_model(fixture_folder("gpt2")),
                 marian = load_model(fixture_folder("marian")), plain = load_model(fixture_folder("bert"));
  const Tensor ids = tensor({{1, 2, 3}}, i64);
  EXPECT_TAPE_ERROR(run(bert, {}), ErrorKind::config, "run: input \"input_ids\" is missing");
  EXPECT_TAPE_ERROR(
      run(gpt, {{"input_ids", ids}, {"token_type_ids", ids}}), ErrorKind::config,
      "run: unknown input \"token_type_ids\"; this model takes attention_mask, input_ids, labels, position_ids");
  EXPECT_TAPE_ERROR(run(plain, {{"input_ids", ids}, {"labels", ids}}), ErrorKind::config,
                    "run: unknown input \"labels\"; this model takes attention_mask, input_ids, token_type_ids");
  EXPECT_TAPE_ERROR(run(bert, {{"input_ids", zeros({1, 3})}}), ErrorKind::dtype,
                    "run: input_ids must be integers (I64, I32 or U8), got f32");
  EXPECT_TAPE_ERROR(run(bert, {{"input_ids", tensor({1, 2}, i64)}}), ErrorKind::shape,
                    "run: input_ids must be [B, T], got [2]");
  EXPECT_TAPE_ERROR(run(bert, {{"input_ids", ids}, {"attention_mask", ones({1, 2}, i64)}}), ErrorKind::shape,
                    "run: attention_mask [1, 2] does not match ids [1, 3]");
  EXPECT_TAPE_ERROR(run(bert, {{"input_ids", ids}, {"labels", ones({1, 2}, i64)}}), ErrorKind::shape,
                    "run: labels [1, 2] do not match logits [1, 3, 13]");
  EXPECT_TAPE_ERROR(run(gpt, {{"input_ids", ids}, {"labels", ones({1, 2}, i64)}}), ErrorKind::shape,
                    "run: labels [1, 2] do not match input_ids [1, 3]");
  EXPECT_TAPE_ERROR(run(bert, {{"input_ids", ids}}, {.gradients = true}), ErrorKind::config,
                    "run: gradients of the loss require \"labels\"");
  EXPECT_TAPE_ERROR(run(marian, {{"input_ids", ids}}), ErrorKind::config,
                    "run: input \"decoder_input_ids\" or \"labels\" is missing");
  EXPECT_TAPE_ERROR(run(bert, {{"input_ids", tensor({{1, 13}}, i64)}}), ErrorKind::index,
                    "bert.embeddings.token: embedding: id 13 at position [0, 1] is outside [0, 13)");
}

TEST(RunInputs, LeaveTheModelUnchanged) {
  const AnyModel model = load_model(fixture_folder("gpt2"));
  const Tensor ids = tensor({{1, 2, 3}}, i64);
  const nn::StateDict first = run(model, {{"input_ids", ids}, {"labels", ids}}, {.gradients = true});
  for (const Tensor& parameter : module_of(model).parameters()) EXPECT_FALSE(parameter.grad().defined());
  EXPECT_FALSE(first.at("logits").requires_grad());
  EXPECT_FALSE(run(model, {{"input_ids", ids}}).contains("loss"));
}

}  // namespace
}  // namespace tape::models
