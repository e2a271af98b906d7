#include "models/gguf/import.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "base/file.h"
#include "models/gguf/export.h"
#include "models/gguf/gguf.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::models {
namespace {

const std::vector<std::string> texts{"It's the 1st of 2,345 lines,\n\n  and none is   lost!", "Größe 漢字 🙂 \t end ",
                                     "", " a", "don't   stop\r\n"};

/// A folder with a tokenizer of tests/fixtures/tokenizers.
template <class M>
void save_with_tokenizer(const std::string& folder, const M& model, const std::string& tokenizer) {
  save(folder, model);
  text::load_tokenizer(fixture_path("tokenizers/" + tokenizer))->save(folder);
}

int64_t tokens_of(const std::string& tokenizer) {
  return text::load_tokenizer(fixture_path("tokenizers/" + tokenizer))->vocab_size();
}

LlamaConfig llama_to_import(LlamaKind kind, const std::string& tokenizer) {
  return {.kind = kind,
          .vocab = tokens_of(tokenizer) + 3,  // includes rows without tokens
          .d_model = 32,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .d_ff = 64,
          .max_length = 64,
          .norm_eps = 1e-5,
          .rotary = {.theta = 50000},
          .init_std = 0.3};
}

/// Exports and imports: compares the model's values bit for bit, its logits, and the tokenizer's output.
template <class M>
void expect_round_trip(const M& model, const std::string& tokenizer) {
  const NoGrad no_grad;
  const TemporaryFolder folder;
  const std::string before = folder / "before", after = folder / "after", file = folder / "a.gguf";
  save_with_tokenizer(before, model, tokenizer);
  export_gguf(before, file);
  import_gguf(file, after);
  const auto again = load<M>(after);
  for (const auto& [name, values] : model.state_dict())
    EXPECT_TRUE(tensors_equal(again->state_dict().at(name), values)) << name;
  auto first = load<M>(before);
  const Tensor ids = randint(0, model.vocab(), {2, 17});
  EXPECT_TRUE(tensors_near((*again)(ids), (*first)(ids), 1e-5));
  const auto was = text::load_tokenizer(before), is = text::load_tokenizer(after);
  for (const std::string& text : texts) {
    EXPECT_EQ(is->encode(text).ids, was->encode(text).ids) << text;
    EXPECT_EQ(is->decode(was->encode(text).ids), was->decode(was->encode(text).ids)) << text;
  }
  if (was->special().bos >= 0) {
    EXPECT_EQ(is->special().bos, was->special().bos);
  }
  if (was->special().eos >= 0) {
    EXPECT_EQ(is->special().eos, was->special().eos);
  }
}

TEST(GgufImport, RestoresAGpt2Exactly) {
  for (const bool tied : {true, false})
    expect_round_trip(
        Gpt({.vocab = tokens_of("gpt2"), .d_model = 32, .layers = 2, .heads = 4, .max_length = 20, .tie_output = tied}),
        "gpt2");
}

TEST(GgufImport, RestoresLlamasAndSimilarModelsExactly) {
  const std::pair<LlamaKind, const char*> models[] = {{LlamaKind::llama, "families/llama3"},
                                                      {LlamaKind::llama, "families/smollm2"},
                                                      {LlamaKind::llama, "families/llama2"},
                                                      {LlamaKind::qwen2, "families/qwen"},
                                                      {LlamaKind::qwen3, "gpt2"}};
  for (const auto& [kind, tokenizer] : models) {
    SCOPED_TRACE(tokenizer);
    LlamaConfig config = llama_to_import(kind, tokenizer);
    config.tie_output = kind == LlamaKind::qwen2;
    if (kind == LlamaKind::qwen3) config.head_width = 12;
    expect_round_trip(Llama(config), tokenizer);
  }
}

TEST(GgufImport, RestoresBiases) {
  LlamaConfig config = llama_to_import(LlamaKind::llama, "gpt2");
  config.attention_bias = true;
  Llama model(config);
  for (const NamedTensor& parameter : model.named_parameters())
    if (parameter.name.ends_with("bias")) Tensor(parameter.tensor).detach().copy_(randn(parameter.tensor.shape()));
  expect_round_trip(model, "gpt2");
}

TEST(GgufImport, RestoresAddedTokensAndTheChatTemplate) {
  const TemporaryFolder folder;
  for (const char* name : {"families/llama3", "families/llama2", "families/qwen"}) {
    const std::string before = folder / "before", after = folder / "after", file = before + "/tokenizer.json",
                      config = before + "/tokenizer_config.json";
    save_with_tokenizer(before, Llama(llama_to_import(LlamaKind::llama, name)), name);
    auto json = nlohmann::json::parse(read_text(file));
    json["added_tokens"].push_back(
        {{"id", tokens_of(name)}, {"content", "<think>"}, {"special", false}, {"normalized", false}});
    write_text(file, json.dump());
    auto settings = nlohmann::json::parse(read_text(config));
    settings.erase("added_tokens_decoder");
    settings["chat_template"] = "{{ messages }}";
    write_text(config, settings.dump());
    export_gguf(before, folder / "a.gguf");
    import_gguf(folder / "a.gguf", after);
    const auto was = text::load_tokenizer(before), is = text::load_tokenizer(after);
    const std::vector<int64_t> ids = was->encode("a<think>b").ids;
    EXPECT_TRUE(std::ranges::count(ids, tokens_of(name)) == 1) << name;
    EXPECT_EQ(is->encode("a<think>b").ids, ids) << name;
    EXPECT_FALSE(is->is_special(tokens_of(name))) << name;
    EXPECT_EQ(nlohmann::json::parse(read_text(after + "/tokenizer_config.json")).at("chat_template"), "{{ messages }}");
    std::filesystem::remove_all(before);
    std::filesystem::remove_all(after);
  }
}

/// GGUF stores a Mistral as a Llama, which computes the same.
TEST(GgufImport, RestoresAMistralAsALlama) {
  const NoGrad no_grad;
  const TemporaryFolder folder;
  Llama model(llama_to_import(LlamaKind::mistral, "gpt2"));
  model.eval();
  save_with_tokenizer(folder / "before", model, "gpt2");
  export_gguf(folder / "before", folder / "a.gguf");
  import_gguf(folder / "a.gguf", folder / "after");
  const auto again = load<Llama>(folder / "after");
  EXPECT_EQ(again->config().kind, LlamaKind::llama);
  const Tensor ids = randint(0, model.vocab(), {1, 9});
  EXPECT_TRUE(tensors_equal((*again)(ids), model(ids)));
}

/// eos, eot and eom; a fourth cannot be stored.
TEST(GgufImport, RestoresEveryEndToken) {
  LlamaConfig config = llama_to_import(LlamaKind::llama, "families/llama2");
  config.eos_ids = {9, 12, 11};
  const TemporaryFolder folder;
  save_with_tokenizer(folder / "before", Llama(config), "families/llama2");
  export_gguf(folder / "before", folder / "a.gguf");
  const auto metadata = load_gguf(folder / "a.gguf").metadata;
  EXPECT_EQ(std::get<uint32_t>(metadata.at("tokenizer.ggml.eos_token_id")), 9U);
  EXPECT_EQ(std::get<uint32_t>(metadata.at("tokenizer.ggml.eot_token_id")), 12U);
  EXPECT_EQ(std::get<uint32_t>(metadata.at("tokenizer.ggml.eom_token_id")), 11U);
  import_gguf(folder / "a.gguf", folder / "after");
  const std::vector<int64_t> ends = load<CausalLM>(folder / "after")->options().eos_ids;
  ASSERT_GE(ends.size(), 3U);
  EXPECT_EQ(std::vector<int64_t>(ends.begin(), ends.begin() + 3), config.eos_ids);
  config.eos_ids = {9, 12, 11, 10};
  save(folder / "before", Llama(config));
  EXPECT_TAPE_ERROR(export_gguf(folder / "before", folder / "a.gguf"), ErrorKind::config,
                    "export gguf: 4 tokens end a text, but GGUF can store only 3");
}

TEST(GgufImport, RecoversTheRotaryScaling) {
  using namespace nn;
  struct Case {
    RotaryScaling scaling;
    double theta;
    int64_t width;
    bool equal = true;  // or else only the same frequencies
  };
  const Case cases[] = {{LinearScaling{2.5}, 10000, 8},
                        {YarnScaling{.factor = 4, .original_length = 16, .beta_fast = 8}, 10000, 8},
                        {Llama3Scaling{32, 1, 4, 8192}, 500000, 64},
                        {Llama3Scaling{8, 1, 4, 8192}, 500000, 128},
                        {Llama3Scaling{4, 2, 8, 16}, 10000, 32, false},
                        {Llama3Scaling{4, 3, 7, 100}, 10000, 32, false},
                        {Llama3Scaling{4, 1, 4, 100}, 1e8, 8, false},    // one interpolated frequency
                        {Llama3Scaling{4, 1, 1.5, 100}, 1e8, 8, false},  // none
                        {Llama3Scaling{4, 1, 4, 2}, 100, 8, false}};     // almost all divided
  for (const Case& each : cases) {
    SCOPED_TRACE(to_string(each.scaling));
    const TemporaryFolder folder;
    LlamaConfig config = llama_to_import(LlamaKind::llama, "gpt2");
    config.head_width = each.width;
    config.rotary = {.theta = each.theta, .scaling = each.scaling};
    save_with_tokenizer(folder / "before", Llama(config), "gpt2");
    export_gguf(folder / "before", folder / "a.gguf");
    import_gguf(folder / "a.gguf", folder / "after");
    const RotaryScaling found = load<Llama>(folder / "after")->config().rotary.scaling;
    if (each.equal) {
      EXPECT_EQ(found, each.scaling);
    }
    const auto frequencies = [&](const RotaryScaling& scaling) {
      return RotaryFrequencies{each.theta, each.width, scaling}.inverse(1);
    };
    EXPECT_TRUE(tensors_near(from_vector(frequencies(found)) / from_vector(frequencies(each.scaling)),
                             ones({each.width / 2}, f64), 2e-5));
  }
}

/// Blocks of four and eight bits become f32 with the same values.
TEST(GgufImport, WidensQuantizedValues) {
  const TemporaryFolder folder;
  save_with_tokenizer(folder / "before", Llama(llama_to_import(LlamaKind::llama, "gpt2")), "gpt2");
  for (const GgufType type : {GgufType::F16, GgufType::BF16, GgufType::Q8_0, GgufType::Q4_0}) {
    export_gguf(folder / "before", folder / "a.gguf", {.type = type});
    import_gguf(folder / "a.gguf", folder / "after");
    EXPECT_TRUE(tensors_equal(load<Llama>(folder / "after")->embeddings->token->weight.detach(),
                              load_gguf(folder / "a.gguf").tensors.at("token_embd.weight")))
        << to_string(type);
  }
}

/// Files converted from SentencePiece have scores and no merges.
TEST(GgufImport, DerivesMergesFromScores) {
  const TemporaryFolder folder;
  save_with_tokenizer(folder / "before", Llama(llama_to_import(LlamaKind::llama, "families/llama2")),
                      "families/llama2");
  export_gguf(folder / "before", folder / "a.gguf");
  GgufFile file = load_gguf(folder / "a.gguf");
  file.metadata.erase("tokenizer.ggml.merges");
  std::vector<GgufTensor> tensors;
  for (const auto& [name, values] : file.tensors) tensors.push_back({name, values});
  save_gguf(folder / "a.gguf", {file.metadata.begin(), file.metadata.end()}, tensors);
  import_gguf(folder / "a.gguf", folder / "after");
  const auto was = text::load_tokenizer(folder / "before"), is = text::load_tokenizer(folder / "after");
  for (const std::string& text : texts) EXPECT_EQ(is->encode(text).ids, was->encode(text).ids) << text;
}

/// A file exported from a fixture folder, with entries changed or removed.
class GgufEntryDefaults : public testing::Test {
 protected:
  void take(const std::string& tokenizer) {
    save_with_tokenizer(folder_ / "before", Llama(llama_to_import(LlamaKind::llama, tokenizer)), tokenizer);
    export_gguf(folder_ / "before", folder_ / "a.gguf");
    file_ = load_gguf(folder_ / "a.gguf");
  }
  void erase(std::initializer_list<const char*> keys) {
    for (const char* key : keys) file_.metadata.erase(fmt::format("tokenizer.ggml.{}", key));
  }
  std::unique_ptr<text::Tokenizer> imported() {
    std::vector<GgufTensor> tensors;
    for (const auto& [name, values] : file_.tensors) tensors.push_back({name, values});
    save_gguf(folder_ / "a.gguf", {file_.metadata.begin(), file_.metadata.end()}, tensors);
    import_gguf(folder_ / "a.gguf", folder_ / "after");
    return text::load_tokenizer(folder_ / "after");
  }
  const TemporaryFolder folder_;
  GgufFile file_;
};

TEST_F(GgufEntryDefaults, StartTextsOfASentencePieceModelWithToken1) {
  take("families/llama2");
  auto& tokens = std::get<std::vector<std::string>>(file_.metadata.at("tokenizer.ggml.tokens"));
  const std::vector<std::string> first{"<unk>", "<s>", "</s>", "three"};  // as in files converted from SentencePiece
  std::copy(first.begin(), first.end(), tokens.begin());
  auto& types = std::get<std::vector<int32_t>>(file_.metadata.at("tokenizer.ggml.token_type"));
  types[0] = 2;
  types[1] = types[2] = 3;
  std::fill(types.begin() + 3, types.begin() + 6, 1);
  erase({"add_bos_token", "add_eos_token", "bos_token_id", "eos_token_id", "unknown_token_id", "padding_token_id",
         "add_space_prefix"});
  const auto tokenizer = imported();
  const std::vector<int64_t> ids = tokenizer->encode("one two").ids;
  ASSERT_GT(ids.size(), 2u);
  EXPECT_EQ(ids.front(), 1);
  EXPECT_NE(ids.back(), 2);
  EXPECT_TRUE(tokenizer->token(ids[1]).starts_with("\u2581")) << tokenizer->token(ids[1]);
  EXPECT_EQ(tokenizer->special().bos, 1);
  EXPECT_EQ(tokenizer->special().eos, 2);
  EXPECT_EQ(tokenizer->special().unk, 0);
  EXPECT_EQ(tokenizer->special().pad, -1);
  file_.metadata["tokenizer.ggml.add_bos_token"] = false;
  file_.metadata["tokenizer.ggml.add_eos_token"] = true;
  const std::vector<int64_t> other = imported()->encode("one two").ids;
  EXPECT_NE(other.front(), 1);
  EXPECT_EQ(other.back(), 2);
}

TEST_F(GgufEntryDefaults, StartTextsOfALlama3WithBos) {
  take("families/llama3");
  erase({"add_bos_token", "add_eos_token"});
  const std::vector<int64_t> ids = imported()->encode("one").ids;
  EXPECT_EQ(ids.front(), imported()->special().bos);
  EXPECT_GT(ids.size(), 1u);
  for (const char* name : {"gpt-2", "qwen2", "smollm", "default"}) {
    file_.metadata["tokenizer.ggml.pre"] = std::string(name);
    const auto tokenizer = imported();
    EXPECT_NE(tokenizer->encode("one").ids.front(), tokenizer->special().bos) << name;
  }
}

TEST_F(GgufEntryDefaults, SplitThreeDigitsAndSignsIfNoPreTokenizerIsNamed) {
  take("gpt2");
  erase({"pre"});
  const auto tokenizer = imported();
  const std::vector<std::string> lines = tokenizer->explain("a  b12345?!c");
  EXPECT_NE(std::ranges::find(lines, "words: |a| | | | b| |123| |45| |?!| |c|"), lines.end())
      << fmt::format("{}", fmt::join(lines, "\n"));
  file_.metadata["tokenizer.ggml.pre"] = std::string("phi-2");
  EXPECT_EQ(imported()->encode("a  b12345?!c").ids,
            text::load_tokenizer(folder_ / "before")->encode("a  b12345?!c").ids);
}

TEST_F(GgufEntryDefaults, RequireABosTokenIfItIsToBeAdded) {
  take("families/llama3");
  erase({"add_bos_token", "bos_token_id"});
  std::get<std::vector<int32_t>>(file_.metadata.at("tokenizer.ggml.token_type"))[11] = 5;
  EXPECT_TAPE_ERROR(imported(), ErrorKind::format, folder_ / "a.gguf" + ": \"add_bos_token\" without a bos_token");
}

/// A small file, of which each test changes one thing.
class GgufToImport : public testing::Test {
 protected:
  GgufToImport() {
    save_with_tokenizer(folder_ / "before", Llama(llama_to_import(LlamaKind::llama, "gpt2")), "gpt2");
    export_gguf(folder_ / "before", path());
    file_ = load_gguf(path());
  }
  std::string path() const { return folder_ / "a.gguf"; }
  template <class T>
  void put(const std::string& key, T value) {
    file_.metadata[key] = value;
  }
  template <class T>
  std::vector<T>& list(const std::string& key) {
    return std::get<std::vector<T>>(file_.metadata.at("tokenizer.ggml." + key));
  }
  void save() {
    std::vector<GgufTensor> tensors;
    for (const auto& [name, values] : file_.tensors) tensors.push_back({name, values});
    save_gguf(path(), {file_.metadata.begin(), file_.metadata.end()}, tensors);
  }
  void expect_refused(const std::string& sentence, ErrorKind kind = ErrorKind::format) {
    std::filesystem::remove_all(folder_ / "after");
    save();
    EXPECT_TAPE_ERROR(import_gguf(path(), folder_ / "after"), kind, path() + ": " + sentence);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "after"));
  }
  const TemporaryFolder folder_;
  GgufFile file_;
};

TEST_F(GgufToImport, IsRefusedForAnotherArchitecture) {
  put("general.architecture", std::string("mamba"));
  expect_refused("architecture \"mamba\" is not supported; gpt2, llama, qwen2 and qwen3 are", ErrorKind::config);
}

TEST_F(GgufToImport, IsRefusedForAnUnknownKey) {
  put("llama.expert_count", uint32_t{8});
  expect_refused("\"llama.expert_count\" requests an unsupported computation", ErrorKind::config);
}

TEST_F(GgufToImport, MayHaveValuesWithoutEffect) {
  const auto expect_same = [&] {
    save();
    import_gguf(path(), folder_ / "after");
    const auto before = load<Llama>(folder_ / "before"), after = load<Llama>(folder_ / "after");
    const Tensor ids = randint(0, before->vocab(), {2, 9});
    EXPECT_TRUE(tensors_near((*after)(ids), (*before)(ids), 1e-5));
  };
  put("llama.expert_count", uint32_t{0});
  put("llama.expert_used_count", uint32_t{0});
  put("llama.logit_scale", 1.0F);
  put("llama.embedding_scale", 0.0F);
  put("llama.residual_scale", 1.0F);
  put("llama.attn_logit_softcapping", 0.0F);
  put("llama.final_logit_softcapping", 0.0F);
  put("llama.attention.clamp_kqv", 0.0F);
  put("llama.attention.max_alibi_bias", 0.0F);
  put("llama.attention.causal", true);
  put("llama.attention.scale", static_cast<float>(1 / std::sqrt(8.0)));
  put("llama.attention.sliding_window", uint32_t{64});
  put("llama.attention.layer_norm_epsilon", 1e-6F);
  put("llama.pooling_type", uint32_t{0});
  put("llama.use_parallel_residual", false);
  put("llama.tensor_data_layout", std::string("Meta AI original pth"));
  put("llama.rope.scaling.type", std::string("none"));
  put("llama.rope.scaling.factor", 4.0F);
  put("llama.rope.scaling.original_context_length", uint32_t{32});
  put("llama.rope.scaling.finetuned", false);
  put("llama.rope.scaling.attn_factor", 1.0F);
  expect_same();
  put("llama.rope.scaling.type", std::string("linear"));
  put("llama.rope.scaling.factor", 1.0F);
  put("llama.attention.sliding_window", uint32_t{0});
  expect_same();
  put("llama.rope.scaling.type", std::string("yarn"));
  expect_same();
  file_.metadata.erase("llama.rope.scaling.type");
  file_.metadata.erase("llama.rope.scaling.factor");
  put("llama.rope.scale_linear", 1.0F);
  file_.tensors["rope_freqs.weight"] = ones({4});
  expect_same();
}

TEST_F(GgufToImport, IsRefusedForValuesThatChangeTheComputation) {
  const std::pair<const char*, GgufValue> values[] = {{"logit_scale", 0.5F},
                                                      {"embedding_scale", 12.0F},
                                                      {"attn_logit_softcapping", 50.0F},
                                                      {"attention.scale", 1.0F},
                                                      {"attention.causal", false},
                                                      {"attention.sliding_window", uint32_t{63}},
                                                      {"rope.scaling.attn_factor", 2.0F},
                                                      {"expert_count", std::string("0")},
                                                      {"new_key", uint32_t{0}}};
  for (const auto& [key, value] : values) {
    const std::string name = fmt::format("llama.{}", key);
    file_.metadata[name] = value;
    expect_refused(fmt::format("\"{}\" requests an unsupported computation", name), ErrorKind::config);
    file_.metadata.erase(name);
  }
}

TEST_F(GgufToImport, ScalesLinearlyByAFactorWithoutAType) {
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    put(key, 4.0F);
    save();
    import_gguf(path(), folder_ / "after");
    const auto scaling = load<Llama>(folder_ / "after")->config().rotary.scaling;
    ASSERT_TRUE(std::holds_alternative<nn::LinearScaling>(scaling)) << key;
    EXPECT_EQ(std::get<nn::LinearScaling>(scaling).factor, 4) << key;
    file_.metadata.erase(key);
  }
}

TEST_F(GgufToImport, HasTheEndTokensOfLlamaCpp) {
  const auto ends = [&] {
    save();
    import_gguf(path(), folder_ / "after");
    return load<CausalLM>(folder_ / "after")->options().eos_ids;
  };
  auto& tokens = list<std::string>("tokens");
  const auto known = [&](std::vector<int64_t> first) {  // adds ids of the fixture's own tokens
    for (size_t id = 0; id < tokens.size(); ++id)
      if ((tokens[id] == "</s>" || tokens[id] == "<|endoftext|>") &&
          std::ranges::find(first, static_cast<int64_t>(id)) == first.end())
        first.push_back(static_cast<int64_t>(id));
    return first;
  };
  put("tokenizer.ggml.eos_token_id", uint32_t{9});
  EXPECT_EQ(ends(), known({9}));
  put("tokenizer.ggml.eot_token_id", uint32_t{12});
  put("tokenizer.ggml.eom_token_id", uint32_t{11});
  EXPECT_EQ(ends(), known({9, 12, 11}));
  put("tokenizer.ggml.eom_token_id", uint32_t{12});
  EXPECT_EQ(ends(), known({9, 12}));
  put("tokenizer.ggml.eot_token_id", static_cast<uint32_t>(tokens.size()));
  expect_refused(fmt::format("\"tokenizer.ggml.eot_token_id\" is {0}, but there are {0} tokens", tokens.size()));
}

TEST_F(GgufToImport, IsRefusedForAMissingKey) {
  file_.metadata.erase("llama.embedding_length");
  expect_refused("\"llama.embedding_length\" is missing");
}

TEST_F(GgufToImport, IsRefusedForAKeyOfAnotherType) {
  put("llama.block_count", int32_t{-1});
  expect_refused("\"llama.block_count\" is not an integer from 0 to 2147483647");
  put("llama.block_count", 2.0F);
  expect_refused("\"llama.block_count\" is not an integer from 0 to 2147483647");
  put("llama.block_count", uint32_t{2});
  put("llama.rope.freq_base", true);
  expect_refused("\"llama.rope.freq_base\" is not a number");
}

TEST_F(GgufToImport, IsRefusedForMoreLayersThanTensors) {
  put("llama.block_count", uint32_t{2'000'000'000});
  expect_refused("2000000000 layers, but 21 tensors");
}

TEST_F(GgufToImport, IsRefusedForMismatchedSizes) {
  put("llama.feed_forward_length", uint32_t{2'000'000'000});
  expect_refused("tensor \"blk.0.ffn_gate.weight\" is [64, 32], but the model requires [2000000000, 32]");
  put("llama.feed_forward_length", uint32_t{64});
  put("llama.attention.head_count", uint32_t{0});
  expect_refused("Llama: heads must be at least 1, got 0", ErrorKind::config);
  put("llama.attention.head_count", uint32_t{4});
  put("llama.rope.dimension_count", uint32_t{4});
  expect_refused("\"llama.rope.dimension_count\" is 4, but heads have width 8", ErrorKind::config);
}

TEST_F(GgufToImport, IsRefusedForAMissingTensor) {
  file_.tensors.erase("blk.1.attn_k.weight");
  expect_refused("tensor \"blk.1.attn_k.weight\" is missing");
}

TEST_F(GgufToImport, IsRefusedForAnUnknownTensor) {
  file_.tensors["blk.0.ffn_gate_exps.weight"] = ones({2, 2});
  expect_refused("the model has no tensor \"blk.0.ffn_gate_exps.weight\"", ErrorKind::config);
}

TEST_F(GgufToImport, IsRefusedForAnotherRotaryScaling) {
  put("llama.rope.scaling.type", std::string("longrope"));
  expect_refused("\"llama.rope.scaling.type\" is \"longrope\"; none, linear and yarn are supported", ErrorKind::config);
  put("llama.rope.scaling.type", std::string("none"));
  file_.tensors["rope_freqs.weight"] = tensor({1, 5, 2, 3});
  expect_refused("tensor \"rope_freqs.weight\" matches no supported scaling", ErrorKind::config);
}

TEST_F(GgufToImport, IsRefusedIfItIsOneOfSeveralFiles) {
  put("split.count", uint32_t{2});
  expect_refused("is one of several files of a split model (\"split.count\")", ErrorKind::config);
}

TEST_F(GgufToImport, IsRefusedForAnotherTokenizer) {
  put("tokenizer.ggml.pre", std::string("chatglm-bpe"));
  expect_refused("pre-tokenizer \"chatglm-bpe\" is not supported", ErrorKind::config);
  put("tokenizer.ggml.model", std::string("bert"));
  expect_refused("a tokenizer of model \"bert\" is not supported; gpt2 and llama are", ErrorKind::config);
}

TEST_F(GgufToImport, IsRefusedForInvalidTokens) {
  list<std::string>("tokens")[3] = "\xFF";
  expect_refused("token 3 is not valid UTF-8");
  list<std::string>("tokens")[3] = list<std::string>("tokens")[2];
  expect_refused(fmt::format("tokens 2 and 3 are both \"{}\"", list<std::string>("tokens")[2]));
}

TEST_F(GgufToImport, IsRefusedForMismatchedLists) {
  list<int32_t>("token_type").pop_back();
  const size_t tokens = list<std::string>("tokens").size();
  expect_refused(fmt::format("{} tokens, but {} types", tokens, tokens - 1));
  list<int32_t>("token_type").push_back(5);
  list<std::string>("merges").push_back("no such");
  expect_refused("the merge \"no such\" contains an unknown token");
  list<std::string>("merges").back() = std::string(513, ' ');
  expect_refused("a merge of 513 bytes exceeds the limit of 512");
  list<std::string>("merges").pop_back();
  put("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(tokens - 1));
  expect_refused(fmt::format("\"tokenizer.ggml.bos_token_id\" is {}, which is not a token", tokens - 1));
}

TEST_F(GgufToImport, IsRefusedForTokensWithTooManyMerges) {
  auto& tokens = list<std::string>("tokens");
  for (size_t i = 0; i < 200; ++i) tokens[i] = std::string(i + 1, 'a');
  list<int32_t>("token_type").assign(tokens.size(), 1);
  put("tokenizer.ggml.model", std::string("llama"));
  put("tokenizer.ggml.scores", std::vector<float>(tokens.size()));
  const std::string count = fmt::format("{}", tokens.size());
  file_.metadata.erase("tokenizer.ggml.merges");
  expect_refused(count + " tokens can be merged from each other in more than 32 ways each");
}

}  // namespace
}  // namespace tape::models
