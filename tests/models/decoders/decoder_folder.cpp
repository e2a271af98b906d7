// generation_config.json of decoder-only models.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/path.h"
#include "models/decoding/generate.h"
#include "tests/models/folders/hugging_face_folder.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

class GenerationConfig : public HuggingFaceFolder {
 protected:
  void give(const std::string& text) const { write_text(path("generation_config.json"), text); }
  Ids ends() const { return load<CausalLM>(folder_.path())->options().eos_ids; }
  static Continuation greedy(CausalLM& model, int64_t most = 12) {
    return generate(model, {{3, 4, 5}}, {.sampling = {.temperature = 0}, .max_new_tokens = most}).front();
  }
};

constexpr std::array kDecoders{"gpt2", "llama", "mistral", "qwen2", "qwen3", "gpt_neox"};

TEST_F(GenerationConfig, SetsADecodersEndTokens) {
  for (const char* name : kDecoders) {
    take(name);
    give(R"({"eos_token_id": [7, 5], "bos_token_id": 6})");
    const auto model = load<CausalLM>(folder_.path());
    EXPECT_EQ(model->options().eos_ids, (Ids{7, 5})) << name;
    EXPECT_EQ(model->options().bos_id, 6) << name;
    give(R"({"eos_token_id": 3})");
    EXPECT_EQ(ends(), Ids{3}) << name;
  }
}

TEST_F(GenerationConfig, ClearsTheEndTokensIfItHasNone) {
  take("llama");
  const Ids own = ends();
  const std::optional<int64_t> bos = load<CausalLM>(folder_.path())->options().bos_id;
  ASSERT_FALSE(own.empty());
  for (const char* text : {"{}", R"({"eos_token_id": null})", R"({"eos_token_id": []})"}) {
    give(text);
    EXPECT_EQ(ends(), Ids{}) << text;
    EXPECT_EQ(load<CausalLM>(folder_.path())->options().bos_id, bos) << text;
  }
  std::filesystem::remove(path("generation_config.json"));
  EXPECT_EQ(ends(), own);
}

TEST_F(GenerationConfig, IsRefusedForEndTokensThatAreNotIds) {
  take("llama");
  give(R"({"eos_token_id": "</s>"})");
  EXPECT_TAPE_ERROR(
      load_model(folder_.path()), ErrorKind::config,
      path("generation_config.json") + ": \"eos_token_id\" must be an integer or a list of integers, got \"</s>\"");
}

TEST_F(GenerationConfig, IsNotOpenedForAnEncoder) {
  take("bert");
  give("no JSON");
  EXPECT_NO_THROW(load_model(folder_.path()));
}

TEST_F(GenerationConfig, IsOptionalIfConfigJsonListsEndTokens) {
  for (const char* name : kDecoders) {
    take(name);
    auto config = nlohmann::ordered_json::parse(read_text(path("config.json")));
    config["eos_token_id"] = {4, 9};
    write_text(path("config.json"), config.dump());
    EXPECT_EQ(ends(), (Ids{4, 9})) << name;
  }
}

TEST_F(GenerationConfig, StopsGenerationAtAnyEndToken) {
  for (const char* name : kDecoders) {
    take(name);
    give("{}");
    const Ids free = greedy(*load<CausalLM>(folder_.path())).tokens;
    ASSERT_EQ(free.size(), 12U) << name;
    const int64_t end = free.back();
    const auto first = static_cast<size_t>(std::ranges::find(free, end) - free.begin());
    give(fmt::format(R"({{"eos_token_id": [{}, {}]}})", 1000, end));
    const Continuation found = greedy(*load<CausalLM>(folder_.path()));
    EXPECT_TRUE(found.stopped) << name;
    EXPECT_EQ(found.tokens, Ids(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(first))) << name;
  }
}

TEST_F(GenerationConfig, IsWrittenWithAllEndTokens) {
  for (const char* name : kDecoders) {
    take(name);
    give(R"({"eos_token_id": [7, 5], "bos_token_id": 6, "no_repeat_ngram_size": 2, "min_new_tokens": 3})");
    const TemporaryFolder to;
    save(to.path(), *load<CausalLM>(folder_.path()));
    const auto written = nlohmann::json::parse(read_text(to / "generation_config.json"));
    EXPECT_EQ(written, nlohmann::json::parse(read_text(path("generation_config.json")))) << name;
    EXPECT_EQ(nlohmann::json::parse(read_text(to / "config.json")).at("eos_token_id"), nlohmann::json({7, 5})) << name;
    const auto again = load<CausalLM>(to.path());
    EXPECT_EQ(again->options().eos_ids, (Ids{7, 5})) << name;
    EXPECT_EQ(again->search.no_repeat_ngram, 2) << name;
    EXPECT_EQ(again->search.min_length, 3) << name;
  }
}

TEST_F(GenerationConfig, KeepsTheKeysThatOnlyTransformersFollows) {
  const char* text = R"({"eos_token_id": 7, "pad_token_id": 3, "do_sample": true, "temperature": 0.6, "top_k": 0,
                         "suppress_tokens": [4], "max_length": 30, "min_length": 2})";
  const auto others = [](const std::string& folder) {
    auto json = nlohmann::json::parse(read_text(join_path(folder, "generation_config.json")));
    for (const char* own : {"bos_token_id", "transformers_version"}) json.erase(own);
    return json;
  };
  for (const char* name : kDecoders) {
    take(name);
    give(text);
    const TemporaryFolder to;
    save(to.path(), *load<CausalLM>(folder_.path()));
    EXPECT_EQ(others(to.path()), nlohmann::json::parse(text)) << name;
    // Without the file, transformers takes them from config.json.
    std::filesystem::remove(path("generation_config.json"));
    auto config = nlohmann::ordered_json::parse(read_text(path("config.json")));
    config.update(nlohmann::ordered_json::parse(text));
    write_text(path("config.json"), config.dump());
    save(to.path(), *load<CausalLM>(folder_.path()));
    EXPECT_EQ(others(to.path()), nlohmann::json::parse(text)) << name;
    EXPECT_EQ(nlohmann::json::parse(read_text(to / "config.json")).at("pad_token_id"), 3) << name;
  }
}

TEST_F(GenerationConfig, SetsRepetitionAndMinimumLengthUnlessTheCallerDoes) {
  take("llama");
  give(R"({"no_repeat_ngram_size": 1})");
  auto model = load<CausalLM>(folder_.path());
  const Ids found = greedy(*model, 8).tokens;
  EXPECT_EQ(std::set<int64_t>(found.begin(), found.end()).size(), 8U);
  give("{}");
  const Ids free = greedy(*load<CausalLM>(folder_.path())).tokens;
  give(fmt::format(R"({{"eos_token_id": {}, "min_new_tokens": 4}})", free.front()));
  model = load<CausalLM>(folder_.path());
  EXPECT_GE(greedy(*model).tokens.size(), 4U);
  const GenerateOptions other{.sampling = {.temperature = 0}, .max_new_tokens = 12, .min_new_tokens = 0};
  EXPECT_TRUE(generate(*model, {{3, 4, 5}}, other).front().tokens.empty());
}

TEST_F(GenerationConfig, ReportsKeysThatAreNotFollowed) {
  take("llama");
  const auto note = [&](const std::string& text) {
    give(text);
    return note_of(load<CausalLM>(folder_.path())->search, "f");
  };
  EXPECT_EQ(note(R"({"do_sample": true, "max_length": 4096, "pad_token_id": 0, "transformers_version": "4.40.0",
                     "_from_model_config": true, "use_cache": false, "temperature": 1.0, "top_p": 1.0})"),
            "");
  EXPECT_EQ(note(R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9, "top_k": 50})"),
            "f/generation_config.json: temperature, top_k, top_p are not followed");
  EXPECT_EQ(note(R"({"do_sample": false, "temperature": 0.6, "top_p": 0.9, "top_k": 50})"), "")
      << "it generates the likeliest token";
  EXPECT_EQ(note(R"({"repetition_penalty": 1.1, "suppress_tokens": [3], "stop_strings": ["a"], "num_beams": 4,
                     "bad_words_ids": [[2]], "min_length": 5, "forced_eos_token_id": 2})"),
            "f/generation_config.json: repetition_penalty, suppress_tokens, stop_strings, bad_words_ids, num_beams, "
            "forced_eos_token_id, min_length are not followed");
  EXPECT_EQ(note(R"({"repetition_penalty": 1.0, "suppress_tokens": [], "num_beams": 1, "min_length": 0})"), "");
}

TEST_F(GenerationConfig, ReadsSearchDefaultsFromConfigJsonIfMissing) {
  take("llama");
  replace("config.json", "\"architectures\"", "\"no_repeat_ngram_size\": 3, \"architectures\"");
  EXPECT_EQ(load<CausalLM>(folder_.path())->search.no_repeat_ngram, 3);
  give("{}");
  EXPECT_EQ(load<CausalLM>(folder_.path())->search.no_repeat_ngram, 0);
}

}  // namespace
}  // namespace tape::models
