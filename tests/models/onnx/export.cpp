#include "models/onnx/export.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "models/onnx/layers.h"
#include "models/run.h"
#include "nn/adapters.h"
#include "nn/position/alibi.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/support/onnx_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

/// A model's file, read back.
template <class M>
OnnxModel exported(const M& model, const OnnxExportOptions& options = {}) {
  const TemporaryFolder folder;
  export_onnx(model, folder / "model.onnx", options);
  return read_onnx(folder / "model.onnx").model;
}

std::vector<std::string> names_of(const std::vector<OnnxValue>& values) {
  std::vector<std::string> names;
  for (const OnnxValue& value : values) names.push_back(value.name);
  return names;
}

const Tensor& some_ids() {
  static const Tensor ids = tensor({{3, 1, 4, 1, 5, 9}, {2, 6, 5, 3, 5, 8}, {9, 7, 9, 3, 2, 3}}, i64);
  return ids;
}
/// Padding on the right, on the left, and everywhere.
const Tensor& some_mask() {
  static const Tensor mask = tensor({{1, 1, 1, 1, 0, 0}, {0, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0}}, i64);
  return mask;
}

template <class M>
void expect_same_logits(M& model, const std::string& what) {
  const NoGrad no_grad;
  model.eval();
  const auto given = run_onnx(exported(model), {{"input_ids", some_ids()}, {"attention_mask", some_mask()}});
  const Tensor expected = model(some_ids(), Mask::padding(some_mask(), 0));
  EXPECT_TRUE(tensors_near(given.at("logits"), expected, 1e-5)) << what;
}

LlamaConfig llama_of_all() {
  return {.kind = LlamaKind::qwen3,
          .vocab = 11,
          .d_model = 8,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .head_width = 6,
          .d_ff = 12,
          .max_length = 6,
          .tie_output = true,
          .init_std = 0.4};
}

GptConfig gpt_to_export() {
  return {.vocab = 11, .d_model = 8, .layers = 2, .heads = 2, .max_length = 7, .init_std = 0.4};
}

BertConfig bert_to_export() {
  return {.vocab = 11, .d_model = 8, .layers = 2, .heads = 2, .d_ff = 12, .max_length = 7, .init_std = 0.4};
}

/// Grouped queries, norms of queries and keys, windows in some layers, each rotary scaling.
TEST(OnnxExport, GivesALlamasOutputs) {
  using namespace nn;
  const RotaryScaling scalings[] = {{},
                                    LinearScaling{2.5},
                                    DynamicScaling{3, 4},
                                    Llama3Scaling{4, 1, 4, 4},
                                    YarnScaling{.factor = 2, .original_length = 4, .beta_fast = 2}};
  for (const RotaryScaling& scaling : scalings) {
    LlamaConfig config = llama_of_all();
    config.rotary = {.theta = 50, .scaling = scaling};
    config.window = 3;
    config.window_layers = {false, true};
    Llama model(config);
    expect_same_logits<CausalLM>(model, to_string(scaling));
  }
}

TEST(OnnxExport, GivesOtherDecodersOutputs) {
  Gpt gpt(gpt_to_export());
  expect_same_logits<CausalLM>(gpt, "Gpt");
  for (const bool parallel : {true, false}) {
    GptNeoX neox({.vocab = 11,
                  .d_model = 16,
                  .layers = 2,
                  .heads = 2,
                  .d_ff = 12,
                  .rotary = {.fraction = 0.5},
                  .parallel = parallel,
                  .init_std = 0.4});
    expect_same_logits<CausalLM>(neox, "GptNeoX");
  }
}

/// Options that no folder has: interleaved rotary pairs, one norm for both branches, a custom scale, no norm before
/// attention, LayerNorm without biases, a GELU gate.
TEST(OnnxExport, GivesOutputsOfCustomLayers) {
  const nn::TransformerLayerOptions first{.d_model = 8,
                                          .heads = 2,
                                          .d_ff = 5,
                                          .activation = nn::ActivationKind::gelu,
                                          .norm = nn::NormPlace::pre,
                                          .feed_forward = nn::FeedForwardKind::gated,
                                          .rotary = nn::RotaryOptions{.pairing = nn::RotaryPairing::interleaved},
                                          .residual = nn::ResidualKind::parallel_one_norm,
                                          .norm_bias = false};
  nn::TransformerLayerOptions second = first, third = first;
  second.residual = nn::ResidualKind::sequential;
  second.attention_norm = false;
  second.activation = nn::ActivationKind::sigmoid;
  second.rotary->fraction = 0.5;
  third.activation = nn::ActivationKind::tanh;
  third.residual = nn::ResidualKind::parallel;
  third.window = nn::AttentionWindow::around(2);
  CausalLM model({.vocab = 11,
                  .d_model = 8,
                  .embeddings = {.max_length = 0, .norm_eps = 1e-3},
                  .layers = {first, second, third},
                  .init_std = 0.4});
  expect_same_logits(model, "CausalLM");
  // The name of its output shows that it is probabilities, not logits.
  CausalLM probable({.vocab = 11,
                     .d_model = 8,
                     .embeddings = {.norm_eps = {}},
                     .layers = {first},
                     .output = nn::TokenOutput::probabilities});
  EXPECT_EQ(names_of(exported(probable).outputs), std::vector<std::string>{"probabilities"});
}

/// A text in pieces, passing keys and values on; with left padding, and positions that start after it.
TEST(OnnxExport, ContinuesFromPastKeysAndValues) {
  const NoGrad no_grad;
  Llama model(llama_of_all());
  model.eval();
  const OnnxModel file = exported<CausalLM>(model, {.with_past = true});
  EXPECT_EQ(names_of(file.inputs),
            (std::vector<std::string>{"input_ids", "attention_mask", "position_ids", "past_key_values.0.key",
                                      "past_key_values.0.value", "past_key_values.1.key", "past_key_values.1.value"}));
  EXPECT_EQ(file.inputs.back().shape, (std::vector<OnnxSize>{"batch_size", 2, "past_sequence_length", 6}));
  EXPECT_EQ(file.inputs[1].shape, (std::vector<OnnxSize>{"batch_size", "past_sequence_length + sequence_length"}));
  const Tensor ids = tensor({{3, 1, 4, 1}, {7, 7, 2, 6}}, i64), mask = tensor({{1, 1, 1, 1}, {0, 0, 1, 1}}, i64);
  const Tensor positions = tensor({{0, 1, 2, 3}, {0, 0, 0, 1}}, i64);
  std::map<std::string, Tensor> given;
  for (size_t i = 3; i < file.inputs.size(); ++i) given[file.inputs[i].name] = zeros({2, 2, 0, 6});
  Tensors logits;
  for (const auto& [begin, end] : {std::pair{0, 1}, {1, 3}, {3, 4}}) {
    given["input_ids"] = slice(ids, 1, {.start = begin, .end = end});
    given["attention_mask"] = slice(mask, 1, {.end = end});
    given["position_ids"] = slice(positions, 1, {.start = begin, .end = end});
    for (auto& [name, value] : run_onnx(file, given))
      if (name == "logits")
        logits.push_back(value);
      else
        given[std::string("past_key_values").append(name, std::string_view("present").size())] = value;
  }
  const Tensor together = cat(logits, 1);
  EXPECT_TRUE(tensors_near(together[0], model(slice(ids, 0, {.end = 1}))[0], 1e-5));
  const Tensor alone = model(tensor({{2, 6}}, i64))[0];
  EXPECT_TRUE(tensors_near(slice(together[1], 0, {.start = 2}), alone, 1e-5));
}

/// Targets in pieces: the first reads the memory, the others continue from its keys and values.
TEST(OnnxExport, ContinuesWithTheThreeFilesOfAnEncoderDecoder) {
  const NoGrad no_grad;
  const Tensor target = tensor({{3, 2, 9, 4, 6}, {4, 5, 6, 7, 8}, {7, 8, 9, 3, 5}}, i64);
  for (const char* name : {"marian", "m2m100", "bart", "mbart", "t5", "t5_gated", "mt5"}) {
    const std::string fixture = fixture_path(fmt::format("hugging_face/{}", name));
    const TemporaryFolder folder;
    export_onnx(fixture, folder / "onnx", {.with_past = true});
    const auto read = [&](const char* file) { return read_onnx(fmt::format("{}/onnx/{}", folder.path(), file)).model; };
    const OnnxModel first = read("decoder_model.onnx"), next = read("decoder_with_past_model.onnx");
    const std::vector<std::string> inputs = names_of(next.inputs);
    EXPECT_EQ(std::vector(inputs.begin(), inputs.begin() + 6),
              (std::vector<std::string>{"input_ids", "encoder_attention_mask", "past_key_values.0.decoder.key",
                                        "past_key_values.0.decoder.value", "past_key_values.0.encoder.key",
                                        "past_key_values.0.encoder.value"}));
    const Tensor memory =
        run_onnx(read("encoder_model.onnx"), {{"input_ids", some_ids()}, {"attention_mask", some_mask()}})
            .at("last_hidden_state");
    std::map<std::string, Tensor> given{{"input_ids", slice(target, 1, {.end = 2})},
                                        {"encoder_attention_mask", some_mask()},
                                        {"encoder_hidden_states", memory}};
    Tensors logits;
    for (const auto& [begin, end] : {std::pair{0, 2}, {2, 3}, {3, 5}}) {
      given["input_ids"] = slice(target, 1, {.start = begin, .end = end});
      for (auto& [key, value] : run_onnx(begin == 0 ? first : next, given))
        if (key == "logits")
          logits.push_back(value);
        else
          given[std::string("past_key_values").append(key, std::string_view("present").size())] = value;
      given.erase("encoder_hidden_states");
    }
    const nn::StateDict expected = run(load_model(fixture), {{"input_ids", some_ids()},
                                                             {"attention_mask", some_mask()},
                                                             {"decoder_input_ids", target},
                                                             {"decoder_attention_mask", ones_like(target)}});
    EXPECT_TRUE(tensors_near(cat(logits, 1), expected.at("logits").to(f32), 1e-5)) << name;
  }
}

TEST(OnnxExport, GivesBertsOutputs) {
  const NoGrad no_grad;
  const Tensor segments = tensor({{0, 0, 1, 1, 1, 1}, {0, 1, 0, 1, 0, 1}, {0, 0, 0, 0, 0, 0}}, i64);
  const std::map<std::string, Tensor> given{
      {"input_ids", some_ids()}, {"attention_mask", some_mask()}, {"token_type_ids", segments}};
  const Mask mask = Mask::padding(some_mask(), 0);
  Bert bert(bert_to_export());
  bert.eval();
  auto out = run_onnx(exported(bert), given);
  const Tensor hidden = bert(some_ids(), mask, segments);
  EXPECT_TRUE(tensors_near(out.at("last_hidden_state"), hidden, 1e-5));
  EXPECT_TRUE(tensors_near(out.at("pooler_output"), bert.pool(hidden), 1e-5));
  MaskedLanguageModel masked(bert_to_export());
  masked.eval();
  EXPECT_TRUE(tensors_near(run_onnx(exported(masked), given).at("logits"), masked(some_ids(), mask, segments), 1e-5));
  for (const nn::Pooling pooling : {nn::Pooling::first, nn::Pooling::mean}) {
    SequenceClassifier classifier({.encoder = bert_to_export(), .num_labels = 3, .pooling = pooling});
    classifier.eval();
    EXPECT_TRUE(
        tensors_near(run_onnx(exported(classifier), given).at("logits"), classifier(some_ids(), mask, segments), 1e-5));
  }
}

TEST(OnnxExport, TakesNoSegmentsIfTheModelHasNone) {
  BertConfig config = bert_to_export();
  config.segments = 0;
  config.pooler = false;
  const OnnxModel file = exported(Bert(config));
  EXPECT_EQ(names_of(file.inputs), (std::vector<std::string>{"input_ids", "attention_mask"}));
  EXPECT_EQ(names_of(file.outputs), std::vector<std::string>{"last_hidden_state"});
}

TEST(OnnxExport, GivesATransformersOutputs) {
  const NoGrad no_grad;
  const Tensor target = tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, i64);
  const Tensor target_seen = tensor({{1, 1, 1}, {1, 1, 0}, {0, 1, 1}}, i64);
  for (const nn::NormPlace norm : {nn::NormPlace::pre, nn::NormPlace::post, nn::NormPlace::post_dropout})
    for (const bool tied : {true, false}) {
      Transformer model({.src_vocab = 11,
                         .tgt_vocab = 11,
                         .d_model = 8,
                         .layers = 1,
                         .heads = 2,
                         .d_ff = 12,
                         .decoder_layers = 2,
                         .norm = norm,
                         .max_length = 9,
                         .scale_embedding = tied,
                         .share_embeddings = tied,
                         .tie_output = tied});
      model.eval();
      const auto out = run_onnx(exported(model), {{"input_ids", some_ids()},
                                                  {"attention_mask", some_mask()},
                                                  {"decoder_input_ids", target},
                                                  {"decoder_attention_mask", target_seen}});
      const Tensor expected = model(some_ids(), target, Mask::padding(some_mask(), 0), Mask::padding(target_seen, 0));
      EXPECT_TRUE(tensors_near(out.at("logits"), expected, 4e-6)) << tied;
    }
}

/// Relative biases as in T5, in a custom stack of such layers.
TEST(OnnxExport, AddsRelativeBiasesToTheScores) {
  const NoGrad no_grad;
  nn::RelativeBias bias(2, {.buckets = 8, .max_distance = 9});
  nn::MultiHeadAttention attention(8, 2, {.bias = false, .scale = 1});
  const int64_t length = 24;
  const Tensor x = randn({2, length, 8}), mask = ones({2, length}, i64);
  onnx::Graph g(f32);
  const onnx::Value in = g.input("x", f32, {"batch", "length", 8}), seen = g.input("mask", i64, {"batch", "length"});
  const onnx::Value from_0 = onnx::places(g, g.whole(0), g.size(in, 1)), far = onnx::distances(g, from_0, from_0);
  onnx::AttentionContext around(seen, far, from_0, false);
  around.add_bias(g, bias);
  g.output("y", onnx::forward(g, attention, in, around), {"batch", "length", 8});
  const Tensor y = run_onnx(g.take("T5"), {{"x", x}, {"mask", mask}}).at("y");
  EXPECT_TRUE(tensors_near(y, attention(x, Mask::additive(bias(length, length))), 1e-5));
}

TEST(OnnxExport, StoresTiedWeightsOnce) {
  MaskedLanguageModel model(bert_to_export());
  const OnnxModel file = exported(model);
  const auto holds = [&](const std::string& name) {
    return std::count_if(file.tensors.begin(), file.tensors.end(), [&](const auto& t) { return t.name == name; });
  };
  EXPECT_EQ(holds("bert.embeddings.token.weight"), 1);
  EXPECT_EQ(holds("head.decoder.weight"), 0);
  EXPECT_EQ(holds("head.decoder.bias"), 1);
  // An untied output's matrix is stored as it is multiplied.
  GptConfig config = gpt_to_export();
  config.tie_output = false;
  Gpt gpt(config);
  for (const OnnxTensor& tensor : exported<CausalLM>(gpt).tensors) {
    if (tensor.name != "output.weight") continue;
    EXPECT_TRUE(tensors_equal(tensor.values, transpose(gpt.output->weight)));
  }
}

/// Matrices and tables take half the bytes, vectors stay f32; outputs are those of the rounded weights.
TEST(OnnxExport, StoresMatricesInHalfPrecision) {
  const NoGrad no_grad;
  for (const DType stored : {f16, bf16}) {
    Gpt model(gpt_to_export());
    model.eval();
    const OnnxModel file = exported<CausalLM>(model, {.stored = stored});
    for (const OnnxTensor& tensor : file.tensors) {
      if (!tensor.name.ends_with("weight")) continue;
      EXPECT_EQ(tensor.stored, tensor.values.rank() == 2 ? stored : f32) << tensor.name;
    }
    for (const NamedTensor& parameter : model.named_parameters())
      if (parameter.tensor.rank() == 2) Tensor(parameter.tensor).copy_(parameter.tensor.to(stored));
    const auto out = run_onnx(file, {{"input_ids", some_ids()}, {"attention_mask", some_mask()}});
    EXPECT_TRUE(tensors_near(out.at("logits"), model(some_ids(), Mask::padding(some_mask(), 0)), 1e-5));
  }
}

/// Each fixture folder, with all tensors of 1 KiB and more in the second file.
TEST(OnnxExport, AcceptsFoldersOfEveryClass) {
  const TemporaryFolder folder;
  for (const char* name :
       {"bert", "bert_classifier", "bert_masked", "gpt2", "gpt_neox", "llama", "m2m100", "marian", "mistral", "qwen2",
        "qwen3", "bart", "mbart", "t5", "t5_gated", "mt5", "vit", "vit_classifier"}) {
    export_onnx(fixture_path(std::string("hugging_face/") + name), folder / "a.onnx", {.max_inline_bytes = 0});
    EXPECT_FALSE(read_onnx(folder / "a.onnx").model.nodes.empty()) << name;
  }
}

/// The fixtures' models are f64 and exported as f32; compares outputs whose names both have.
TEST(OnnxExport, GivesTheOutputsOfRunForEveryOtherClass) {
  std::vector<std::string> names{"bart", "mbart", "t5", "t5_gated", "mt5", "vit", "vit_classifier"};
  for (const auto& entry : std::filesystem::directory_iterator(fixture_path("hugging_face/encoders")))
    names.push_back(fmt::format("encoders/{}", entry.path().filename().string()));
  for (const std::string& name : names) {
    const std::string folder = fixture_path(fmt::format("hugging_face/{}", name));
    const AnyModel model = load_model(folder);
    nn::StateDict given;
    for (const auto& [key, tensor] : load_safetensors(fmt::format("{}/expected.safetensors", folder)).tensors)
      if (key.starts_with("in.")) given[key.substr(3)] = tensor;
    if (given.contains("labels") && given.contains("input_ids") && name.find('/') == std::string::npos) {
      given["decoder_input_ids"] = maximum(given.at("labels"), zeros_like(given.at("labels")));
      given["decoder_attention_mask"] = ones_like(given.at("labels"));
    }
    for (const char* target : {"labels", "start_positions", "end_positions"}) given.erase(target);
    const nn::StateDict expected = models::run(model, given);
    if (given.contains("input_ids") && !given.contains("attention_mask"))
      given["attention_mask"] = ones_like(given.at("input_ids"));
    if (given.contains("pixel_values")) given["pixel_values"] = given.at("pixel_values").to(f32);
    const OnnxModel file = exported(model);
    for (const OnnxValue& input : file.inputs)
      if (input.name == "token_type_ids" && !given.contains(input.name))
        given[input.name] = zeros_like(given.at("input_ids"));
    const auto out = run_onnx(file, given);
    ASSERT_FALSE(out.empty()) << name;
    for (const auto& [output, value] : out)
      EXPECT_TRUE(tensors_near(value, expected.at(output).to(f32), 1e-4)) << name << " " << output;
  }
}

/// Operator names show which module they come from.
TEST(OnnxExport, NamesOperatorsAfterTheirModules) {
  Gpt model(gpt_to_export());
  std::set<std::string> names;
  for (const OnnxNode& node : exported<CausalLM>(model).nodes) EXPECT_TRUE(names.insert(node.name).second) << node.name;
  EXPECT_TRUE(names.contains("encoder.layers.1.self_attention.query/MatMul"));
  EXPECT_TRUE(names.contains("encoder.layers.1.feed_forward.activation/Tanh"));
}

TEST(OnnxExport, RefusesUnmergedAdapters) {
  const TemporaryFolder folder;
  Gpt model(gpt_to_export());
  nn::add_adapter(model, "style", {.rank = 2}, {"query"});
  EXPECT_TAPE_ERROR(export_onnx(model, folder / "a.onnx"), ErrorKind::config,
                    "export onnx: encoder.layers.0.self_attention.query: the adapter \"style\" is not merged "
                    "(nn::merge_adapters)");
  nn::merge_adapters(model);
  expect_same_logits<CausalLM>(model, "merged");
}

struct Unheard : nn::Layer<Unheard> {
  Tensor forward(const Tensor& x) const { return x; }
};
struct Holder : nn::Module {
  nn::Child<Unheard> inner{this, "inner"};
};
/// A subclass of Linear that computes something else.
struct Doubled : nn::Linear {
  Doubled() : nn::Linear(2, 2) {}
};

TEST(OnnxExport, RefusesUnsupportedLayers) {
  const Holder holder;
  onnx::Graph g(f32);
  const onnx::Value x = g.input("x", f32, {2});
  const std::string unheard = "export onnx: inner: Unheard cannot be exported";
  EXPECT_TAPE_ERROR(onnx::forward(g, holder.inner, x), ErrorKind::config, unheard);
  EXPECT_TAPE_ERROR(onnx::forward(g, Doubled(), x), ErrorKind::config, "export onnx: Doubled cannot be exported");
  nn::MultiHeadAttention turned(8, 2, {.rotary = nn::RotaryOptions{}});
  onnx::AttentionContext around(x);
  EXPECT_TAPE_ERROR(onnx::read_memory(g, turned, x), ErrorKind::config,
                    "export onnx: cross-attention with rotary positions or a window cannot be exported");
}

TEST(OnnxExport, RefusesOptionsOfOtherModels) {
  const TemporaryFolder folder;
  const Bert bert(bert_to_export());
  EXPECT_TAPE_ERROR(export_onnx(bert, folder / "a.onnx", {.with_past = true}), ErrorKind::config,
                    "export onnx: with_past requires a model that generates text, but this is a Bert");
  EXPECT_TAPE_ERROR(
      export_onnx(fixture_path("hugging_face/t5"), folder / "a.onnx", {.with_past = true}), ErrorKind::config,
      fmt::format("export onnx: with_past writes three files for a T5 and requires a folder as path, got {}",
                  folder / "a.onnx"));
  EXPECT_TAPE_ERROR(export_onnx(bert, folder / "a.onnx", {.stored = i64}), ErrorKind::config,
                    "export onnx: matrices can be stored as f32, f16 or bf16, got i64");
}

}  // namespace
}  // namespace tape::models
