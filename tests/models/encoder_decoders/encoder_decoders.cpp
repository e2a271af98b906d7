// The encoder-decoder models that tests/fixtures/make_encoder_decoders.py wrote with transformers: the texts they
// generate, and the defaults of an empty config.json.

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/decoding/generate.h"
#include "models/decoding/greedy.h"
#include "models/encoder_decoders/translate.h"
#include "models/folders/family_of.h"
#include "models/folders/folder.h"
#include "models/heads/length_batches.h"
#include "tests/support/fixtures.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

const nlohmann::json& said() { return fixture_json("encoder_decoders.json"); }

class EncoderDecoderTexts : public testing::TestWithParam<std::string> {
 protected:
  EncoderDecoderTexts() {
    const NoGrad no_grad;
    for (Tensor& parameter : model_->parameters())
      if (parameter.rank() == 2) parameter.mul_(said().at("scale").get<double>());
  }

  std::vector<Ids> wanted(const char* kind) const {
    return said().at("models").at(GetParam()).at(kind).get<std::vector<Ids>>();
  }

  /// Generates each source's text, in a batch and on its own, with and without a cache.
  void expect_texts(const char* kind, const SamplingOptions& sampling) {
    GenerateOptions options{.sampling = sampling, .max_new_tokens = most_, .seed = said().at("seed").get<uint64_t>()};
    for (const bool cache : {true, false}) {
      options.use_cache = cache;
      const auto found = generate(*model_, sources_, options);
      for (size_t row = 0; row < sources_.size(); ++row) {
        EXPECT_EQ(found[row].tokens, wanted(kind)[row]) << kind << ", row " << row << (cache ? ", cached" : "");
        EXPECT_EQ(found[row].stopped, std::ssize(wanted(kind)[row]) < most_);
      }
    }
    options.use_cache = true;
    for (size_t row = 0; row < sources_.size(); ++row, ++*options.seed)
      EXPECT_EQ(generate(*model_, {sources_[row]}, options)[0].tokens, wanted(kind)[row]) << kind << ", alone " << row;
  }

  const std::unique_ptr<EncoderDecoder> model_ =
      load<EncoderDecoder>(fixture_path(fmt::format("hugging_face/{}", GetParam())));
  const std::vector<Ids> sources_ = said().at("sources").get<std::vector<Ids>>();
  const int64_t most_ = said().at("most");
};

TEST_P(EncoderDecoderTexts, EqualTransformersGreedyTexts) { expect_texts("greedy", {.temperature = 0}); }

TEST_P(EncoderDecoderTexts, AreSampledFromTransformersDistributions) {
  const auto& given = said().at("sampling");
  expect_texts("sampled",
               {.temperature = given.at("temperature"), .top_k = given.at("top_k"), .top_p = given.at("top_p")});
}

TEST_P(EncoderDecoderTexts, EqualTransformersBeamSearch) {
  const auto& wanted = said().at("models").at(GetParam()).at("beams");
  const int64_t beams = said().at("beams");
  for (const int64_t batch_tokens : {4096, 1}) {
    const auto found = translate(*model_, sources_,
                                 {.beams = beams,
                                  .n_best = beams,
                                  .length_penalty = said().at("length_penalty"),
                                  .max_length = most_,
                                  .batch_tokens = batch_tokens});
    for (size_t row = 0; row < sources_.size(); ++row)
      for (size_t i = 0; i < static_cast<size_t>(beams); ++i) {
        EXPECT_EQ(found[row][i].tokens, wanted[row][i][0].get<Ids>()) << "row " << row << ", " << i;
        EXPECT_NEAR(found[row][i].score, wanted[row][i][1].get<double>(), 1e-4) << "row " << row << ", " << i;
      }
  }
}

/// Models that force no first token.
class UnforcedTexts : public EncoderDecoderTexts {};

TEST_P(UnforcedTexts, EqualGreedyDecoding) {
  const Ids all{0, 1, 2, 3, 4};
  for (const bool cache : {true, false})
    EXPECT_EQ(greedy_decode(*model_, padded_rows(sources_, all, model_->options().padding_id),
                            {.bos = model_->options().bos_id,
                             .eos = model_->options().eos_id,
                             .max_length = most_,
                             .use_cache = cache}),
              wanted("greedy"));
}

INSTANTIATE_TEST_SUITE_P(Most, UnforcedTexts, testing::Values("mbart", "t5", "t5_gated", "mt5"),
                         [](const auto& each) { return each.param; });
INSTANTIATE_TEST_SUITE_P(All, EncoderDecoderTexts, testing::Values("bart", "mbart", "t5", "t5_gated", "mt5"),
                         [](const auto& each) { return each.param; });

/// The two configurations as they would be written.
template <class M, class Read>
void expect_same(const std::string& type, const hugging_face::FamilyOf<M>& family, Read&& read,
                 const std::set<std::string>& apart) {
  const nlohmann::json& all = fixture_json("encoder_decoder_defaults.json").at(type);
  const auto written = [&](const std::string& text) {
    return nlohmann::json(family.json(read(ConfigReader(text, "config.json")), f32));
  };
  const nlohmann::json json = written(fmt::format(R"({{"model_type": "{}"}})", type));
  EXPECT_EQ(json, written(all.dump())) << type;
  size_t same = 0;
  for (const auto& [key, value] : all.items())
    if (json.contains(key) && !apart.contains(key)) {
      EXPECT_EQ(json.at(key), value) << type << ": " << key;
      ++same;
    }
  EXPECT_GT(same, 14u) << type;
}

TEST(EncoderDecoderDefaults, AreThoseOfTransformers) {
  namespace hf = hugging_face;
  const auto& barts = hf::family_of_class<Bart>(hf::bart_family());
  const auto& t5s = hf::family_of_class<T5>(hf::t5_family());
  const auto bart = [&](const ConfigReader& c) { return barts.read("BartForConditionalGeneration", c); };
  const auto mbart = [&](const ConfigReader& c) { return barts.read("MBartForConditionalGeneration", c); };
  const auto t5 = [&](const ConfigReader& c) { return t5s.read("T5ForConditionalGeneration", c); };
  const auto mt5 = [&](const ConfigReader& c) { return t5s.read("MT5ForConditionalGeneration", c); };
  const auto reader = [](const std::string& text) { return ConfigReader(text, "config.json"); };
  const std::set<std::string> apart{"architectures", "dtype", "bos_token_id", "decoder_start_token_id"};
  expect_same("bart", barts, bart, apart);
  expect_same("mbart", barts, mbart, apart);
  expect_same("t5", t5s, t5, apart);
  expect_same("mt5", t5s, mt5, apart);
  // A configuration that does not set how a target starts has the default of generate().
  EXPECT_EQ(bart(reader("{}")).bos_id, 2);
  EXPECT_EQ(mbart(reader(R"({"bos_token_id": 3})")).bos_id, 3);
  EXPECT_EQ(t5(reader(R"({"pad_token_id": 4})")).bos_id, 4);
  // transformers treats null as false; a missing key has the default above.
  EXPECT_TRUE(t5(reader("{}")).scale_output);
  EXPECT_FALSE(t5(reader(R"({"scale_decoder_outputs": null})")).scale_output);
}

}  // namespace
}  // namespace tape::models
