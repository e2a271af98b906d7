// Search defaults of folders (tests/fixtures/make_encoder_decoders.py, "searches.json"): results equal those of
// transformers, with the folder's settings or the caller's.

#include "models/decoding/search_defaults.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/ops/elementwise/arithmetic.h"
#include "base/file.h"
#include "models/decoding/generate.h"
#include "models/decoding/generation_batch.h"
#include "models/encoder_decoders/translate.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"

namespace tape::models {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int64_t>;

const nlohmann::json& searches() { return fixture_json("searches.json"); }

TEST(RepeatingTokens, WouldCompleteAnNgramThatOccurred) {
  const Ids said{1, 2, 3, 1, 2};
  EXPECT_EQ(repeating_tokens(said, 0), Ids{});
  EXPECT_EQ(repeating_tokens(said, 1), said);
  EXPECT_EQ(repeating_tokens(said, 2), Ids{3});
  EXPECT_EQ(repeating_tokens(said, 3), Ids{3});
  EXPECT_EQ(repeating_tokens(said, 4), Ids{});
  EXPECT_EQ(repeating_tokens(said, 6), Ids{});
  EXPECT_EQ(repeating_tokens(Ids{7, 7, 7}, 3), Ids{7});
  EXPECT_EQ(repeating_tokens(Ids{}, 1), Ids{});
}

class SearchFolder : public testing::Test {
 protected:
  explicit SearchFolder(const std::string& name = "bart") {
    fs::copy(fixture_path("hugging_face/" + name), folder_.path(), fs::copy_options::recursive);
  }

  /// The folder's model with larger matrices and the settings of this generation_config.json, including target starts.
  std::unique_ptr<EncoderDecoder> wanting(nlohmann::json settings) {
    const TargetStart start = target_start(*load<EncoderDecoder>(folder_.path()));
    settings["decoder_start_token_id"] = start.bos;
    if (start.forced_bos) settings["forced_bos_token_id"] = *start.forced_bos;
    write_text(folder_ / "generation_config.json", settings.dump());
    auto model = load<EncoderDecoder>(folder_.path());
    const NoGrad no_grad;
    for (Tensor& parameter : model->parameters())
      if (parameter.rank() == 2) parameter.mul_(searches().at("scale").get<double>());
    return model;
  }

  const TemporaryFolder folder_;
};

class SearchResults : public SearchFolder, public testing::WithParamInterface<std::string> {
 protected:
  SearchResults() : SearchFolder(GetParam()) {}

  void expect_found(EncoderDecoder& model, const nlohmann::json& wanted, const TranslateOptions& options) {
    for (const int64_t batch_tokens : {4096, 1}) {
      TranslateOptions given = options;
      given.batch_tokens = batch_tokens;
      given.n_best = searches().at("beams");
      const auto found = translate(model, sources_, given);
      for (size_t row = 0; row < sources_.size(); ++row)
        for (size_t i = 0; i < found[row].size(); ++i) {
          const auto& best = wanted.at("beams")[row][i];
          EXPECT_EQ(found[row][i].tokens, best[0].get<Ids>()) << wanted.at("settings") << ", row " << row << ", " << i;
          EXPECT_NEAR(found[row][i].score, best[1].get<double>(), 1e-4) << wanted.at("settings") << ", row " << row;
        }
    }
  }
  void expect_texts(EncoderDecoder& model, const nlohmann::json& wanted, GenerateOptions options) {
    options.sampling.temperature = 0;
    options.max_new_tokens = most_;
    for (const bool cache : {true, false}) {
      options.use_cache = cache;
      const auto said = generate(model, sources_, options);
      for (size_t row = 0; row < sources_.size(); ++row)
        EXPECT_EQ(said[row].tokens, wanted.at("greedy")[row].get<Ids>()) << wanted.at("settings") << ", row " << row;
    }
  }

  const std::vector<Ids> sources_ = searches().at("sources").get<std::vector<Ids>>();
  const int64_t most_ = searches().at("most");
};

TEST_P(SearchResults, UseTheFoldersDefaults) {
  for (const nlohmann::json& wanted : searches().at("models").at(GetParam())) {
    nlohmann::json settings = wanted.at("settings");
    settings["num_beams"] = searches().at("beams");
    settings["length_penalty"] = searches().at("length_penalty");
    settings["max_new_tokens"] = most_;
    const auto model = wanting(settings);
    expect_found(*model, wanted, {});
    expect_texts(*model, wanted, {});
    // And those of a folder saved from it.
    const TemporaryFolder again;
    save(again.path(), *model);
    expect_found(*load<EncoderDecoder>(again.path()), wanted, {});
  }
}

TEST_P(SearchResults, PreferTheCallersOptions) {
  const auto model = wanting({{"num_beams", 2},
                              {"length_penalty", 3},
                              {"max_length", 3},
                              {"min_length", 2},
                              {"no_repeat_ngram_size", 4},
                              {"early_stopping", true},
                              {"forced_eos_token_id", 2}});
  for (const nlohmann::json& wanted : searches().at("models").at(GetParam())) {
    const nlohmann::json& settings = wanted.at("settings");
    const int64_t ngram = settings.value("no_repeat_ngram_size", 0);
    const int64_t least = std::max<int64_t>(settings.value("min_length", 1) - 1, 0);
    const bool forced = settings.contains("forced_eos_token_id");
    expect_found(*model, wanted,
                 {.beams = searches().at("beams").get<int64_t>(),
                  .length_penalty = searches().at("length_penalty").get<double>(),
                  .early_stopping = settings.value("early_stopping", false),
                  .no_repeat_ngram = ngram,
                  .min_length = least,
                  .forced_eos = forced,
                  .max_length = most_});
    expect_texts(*model, wanted, {.no_repeat_ngram = ngram, .min_new_tokens = least, .forced_eos = forced});
  }
}

INSTANTIATE_TEST_SUITE_P(Each, SearchResults, testing::Values("bart", "mbart", "t5", "t5_gated", "mt5"),
                         [](const auto& each) { return each.param; });

TEST_F(SearchFolder, ReadsConfigJsonIfThereIsNoOtherFile) {
  const auto search = [&] { return load<EncoderDecoder>(folder_.path())->search; };
  EXPECT_FALSE(search().forced_eos) << "the other file does not set it";
  fs::remove(folder_ / "generation_config.json");
  EXPECT_FALSE(search().forced_eos) << "null";
  std::string config = read_text(folder_ / "config.json");
  const std::string null = "\"forced_eos_token_id\": null";
  ASSERT_NE(config.find(null), std::string::npos);
  config.replace(config.find(null), null.size(), "\"num_beams\": 5, \"min_length\": 4, \"max_length\": 20");
  write_text(folder_ / "config.json", config);
  EXPECT_TRUE(search().forced_eos) << "BartConfig's default";
  EXPECT_EQ(search().beams, 5);
  EXPECT_EQ(search().min_length, 3);
  EXPECT_EQ(search().max_length, 19);
}

TEST_F(SearchFolder, ReportsKeysThatAreNotFollowed) {
  EXPECT_EQ(note_of(wanting({{"repetition_penalty", 1.0}, {"suppress_tokens", nlohmann::json::array()}})->search, "f"),
            "");
  EXPECT_EQ(note_of(wanting({{"bad_words_ids", {{1}}}, {"num_beam_groups", 1}})->search, "f"), "") << "the padding";
  EXPECT_EQ(note_of(wanting({{"repetition_penalty", 1.2}})->search, "f"),
            "f/generation_config.json: repetition_penalty is not followed");
  EXPECT_EQ(
      note_of(wanting({{"early_stopping", "never"}, {"do_sample", true}, {"forced_eos_token_id", 5}})->search, "f"),
      "f/generation_config.json: do_sample, forced_eos_token_id, early_stopping are not followed");
}

TEST_F(SearchFolder, IsRefusedForInvalidValues) {
  const auto refused = [&](const char* key, int64_t value, const std::string& needed) {
    EXPECT_TAPE_ERROR(
        wanting({{key, value}}), ErrorKind::config,
        fmt::format("{}: \"{}\" must be {}, got {}", folder_ / "generation_config.json", key, needed, value));
    fs::remove(folder_ / "generation_config.json");
  };
  refused("num_beams", 0, "at least 1");
  refused("no_repeat_ngram_size", -1, "at least 0");
  refused("max_length", 1, "at least 2");
  refused("min_new_tokens", -1, "at least 0");
}

TEST_F(SearchFolder, NamesInvalidOptions) {
  const auto model = wanting({});
  EXPECT_TAPE_ERROR(generate(*model, {{3}}, {.max_new_tokens = 3, .min_new_tokens = 4}), ErrorKind::config,
                    "generate: min_new_tokens must be from 0 to max_new_tokens, got 4 (max_new_tokens 3)");
  EXPECT_TAPE_ERROR(generate(*model, {{3}}, {.no_repeat_ngram = -1}), ErrorKind::config,
                    "generate: no_repeat_ngram must be at least 0 (0: none), got -1");
  const std::vector<Ids> sources{{3}};
  EXPECT_TAPE_ERROR(translate(*model, sources, {.no_repeat_ngram = -1}), ErrorKind::config,
                    "beam_search: no_repeat_ngram must be at least 0 (0: none), got -1");
  EXPECT_TAPE_ERROR(translate(*model, sources, {.min_length = 5, .max_length = 4}), ErrorKind::config,
                    "beam_search: max_lengths must be at least 1 and min_length, got 4 (min_length 5)");
}

}  // namespace
}  // namespace tape::models
