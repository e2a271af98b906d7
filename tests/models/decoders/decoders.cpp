// The decoder-only models that tests/fixtures/make_decoders.py wrote with transformers: the texts they generate, and
// the defaults of an empty config.json.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/decoding/generate.h"
#include "models/folders/family_of.h"
#include "models/folders/folder.h"
#include "tests/support/fixtures.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

const nlohmann::json& decoders() { return fixture_json("decoders.json"); }

class DecoderTexts : public testing::TestWithParam<std::string> {
 protected:
  DecoderTexts() {
    const NoGrad no_grad;
    for (Tensor& parameter : model_->parameters())
      if (parameter.rank() == 2) parameter.mul_(decoders().at("scale").get<double>());
  }

  /// Continues each prompt, in a batch and on its own, with and without a cache.
  void expect_texts(const std::string& kind, const SamplingOptions& sampling) {
    const auto prompts = decoders().at("prompts").get<std::vector<Ids>>();
    const auto wanted = decoders().at("models").at(GetParam()).at(kind).get<std::vector<Ids>>();
    GenerateOptions options{
        .sampling = sampling, .max_new_tokens = decoders().at("most"), .seed = decoders().at("seed").get<uint64_t>()};
    for (const bool cache : {true, false}) {
      options.use_cache = cache;
      const auto found = generate(*model_, prompts, options);
      for (size_t row = 0; row < prompts.size(); ++row) {
        EXPECT_EQ(found[row].tokens, wanted[row]) << kind << ", row " << row << (cache ? ", cached" : "");
        EXPECT_EQ(found[row].stopped, wanted[row].size() < decoders().at("most").get<size_t>());
      }
    }
    options.use_cache = true;
    for (size_t row = 0; row < prompts.size(); ++row, ++*options.seed)
      EXPECT_EQ(generate(*model_, {prompts[row]}, options)[0].tokens, wanted[row]) << kind << ", alone, row " << row;
  }

  const std::unique_ptr<CausalLM> model_ = load<CausalLM>(fixture_path(fmt::format("hugging_face/{}", GetParam())));
};

TEST_P(DecoderTexts, EqualTransformersGreedyTexts) { expect_texts("greedy", {.temperature = 0}); }

TEST_P(DecoderTexts, AreSampledFromTransformersDistributions) {
  const auto& given = decoders().at("sampling");
  expect_texts("sampled",
               {.temperature = given.at("temperature"), .top_k = given.at("top_k"), .top_p = given.at("top_p")});
}

INSTANTIATE_TEST_SUITE_P(All, DecoderTexts,
                         testing::Values("llama", "llama_biases", "mistral", "qwen2", "qwen3", "gpt_neox"),
                         [](const auto& each) { return each.param; });

/// The two configurations as they would be written.
template <class M, class Completed>
void expect_same(const std::string& type, const hugging_face::ModelFamily& family, const char* architecture,
                 Completed&& completed) {
  const nlohmann::json& all = fixture_json("decoder_defaults.json").at(type);
  const auto written = [&](const std::string& text) {
    const auto& of_class = hugging_face::family_of_class<M>(family);
    return nlohmann::json(of_class.json(completed(of_class.read(architecture, {text, "config.json"})), f32));
  };
  const nlohmann::json json = written(fmt::format(R"({{"model_type": "{}"}})", type));
  EXPECT_EQ(json, written(all.dump())) << type;
  for (const auto& [key, value] : all.items())
    if (json.contains(key) && key != "architectures" && key != "dtype" && key != "max_window_layers") {
      EXPECT_EQ(json.at(key), value) << type << ": " << key;
    }
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "max_position_embeddings", "eos_token_id"})
    EXPECT_TRUE(json.contains(key) && all.contains(key)) << key;
}

TEST(DecoderDefaults, AreThoseOfTransformers) {
  const auto llama = [](const std::string& type, const char* architecture) {
    expect_same<Llama>(type, hugging_face::llama_family(), architecture,
                       [](const LlamaConfig& c) { return completed(c); });
  };
  llama("llama", "LlamaForCausalLM");
  llama("mistral", "MistralForCausalLM");
  llama("qwen2", "Qwen2ForCausalLM");
  llama("qwen3", "Qwen3ForCausalLM");
  expect_same<GptNeoX>("gpt_neox", hugging_face::gpt_neox_family(), "GPTNeoXForCausalLM",
                       [](const GptNeoXConfig& c) { return c; });
}

}  // namespace
}  // namespace tape::models
