#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/fixtures.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/scores/bleu.h"
#include "text/scores/chrf.h"
#include "text/scores/score_text.h"

namespace tape::text {
namespace {

using Texts = std::vector<std::string>;

// tests/fixtures/scores.json, written by make_scores.py with sacrebleu 2.6.0.
const Json& scores() { return fixture_json("scores.json"); }

BleuOptions bleu_options(const Json& kind) {
  BleuOptions options{.tokenizer = bleu_tokenizer(kind.at("tokenize").get<std::string>()),
                      .lowercase = kind.at("lowercase").get<bool>(),
                      .effective_order = kind.value("effective_order", false)};
  const std::string smoothing = kind.value("smooth_method", "exp");
  options.smoothing = smoothing == "none"    ? BleuSmoothing::none
                      : smoothing == "floor" ? BleuSmoothing::floor
                      : smoothing == "add-k" ? BleuSmoothing::add_k
                                             : BleuSmoothing::exp;
  if (kind.contains("smooth_value") && kind["smooth_value"].is_number())
    options.smoothing_value = kind["smooth_value"].get<double>();
  return options;
}

// The fixture's signature with our version.
std::string with_our_version(const Json& signature) {
  const std::string text = signature.get<std::string>();
  return fmt::format("{}|version:{}", text.substr(0, text.rfind('|')), score_version());
}

TEST(Bleu, MatchesSacreBleu) {
  int64_t compared = 0;
  for (size_t number = 0; number < scores()["cases"].size(); ++number) {
    const Json& one = scores()["cases"][number];
    const auto hypotheses = one["hypotheses"].get<Texts>();
    const auto references = one["references"].get<std::vector<Texts>>();
    for (const Json& kind : one["bleu"]) {
      SCOPED_TRACE(fmt::format("case {}: {}", number, kind.dump()));
      const BleuScore score = bleu(hypotheses, references, bleu_options(kind));
      EXPECT_NEAR(score.score, kind["score"].get<double>(), 1e-9);
      EXPECT_EQ(score.matches, (kind["counts"].get<std::array<int64_t, 4>>()));
      EXPECT_EQ(score.totals, (kind["totals"].get<std::array<int64_t, 4>>()));
      EXPECT_EQ(Json::array({score.hyp_length, score.ref_length}), kind["lengths"]);
      for (size_t n = 0; n < 4; ++n) EXPECT_NEAR(score.precisions[n], kind["precisions"][n].get<double>(), 2e-9);
      EXPECT_EQ(score.signature, with_our_version(kind["signature"]));
      EXPECT_EQ(score.details(), kind.value("details", score.details()));
      ++compared;
    }
  }
  EXPECT_GE(compared, 400);
}

TEST(Chrf, MatchesSacreBleu) {
  int64_t compared = 0;
  for (const Json& one : scores()["cases"]) {
    const auto hypotheses = one["hypotheses"].get<Texts>();
    const auto references = one["references"].get<std::vector<Texts>>();
    for (const Json& kind : one["chrf"]) {
      SCOPED_TRACE(fmt::format("{} {}", one["hypotheses"].dump(), kind.dump()));
      const ChrfScore score = chrf(hypotheses, references,
                                   {.char_order = kind.value("char_order", 6),
                                    .word_order = kind.value("word_order", 0),
                                    .beta = kind.value("beta", 2),
                                    .lowercase = kind.value("lowercase", false),
                                    .white_space = kind.value("whitespace", false)});
      EXPECT_NEAR(score.score, kind["score"].get<double>(), 1e-9);
      EXPECT_EQ(score.name, kind["name"].get<std::string>());
      EXPECT_EQ(score.signature, with_our_version(kind["signature"]));
      ++compared;
    }
  }
  EXPECT_GE(compared, 200);
}

TEST(Scores, LowercaseLikePython) {
  for (const Json& pair : scores()["lower"])
    EXPECT_EQ(lower_case(to_code_points(pair[0].get<std::string>())), to_code_points(pair[1].get<std::string>()))
        << pair[0];
}

TEST(Scores, AcceptASingleSetOfReferences) {
  const Texts hypotheses{"the cat sat here", "a dog"}, references{"the cat sat there", "a dog"};
  const std::vector<Texts> sets{references};
  EXPECT_EQ(bleu(hypotheses, references).score, bleu(hypotheses, sets).score);
  EXPECT_EQ(chrf(hypotheses, references).score, chrf(hypotheses, sets).score);
  EXPECT_NEAR(bleu(references, references).score, 100, 1e-9);
  EXPECT_NEAR(chrf(references, references).score, 100, 1e-9);
}

TEST(Scores, ReadInvalidUtf8AsReplacementCharacters) {
  EXPECT_NEAR(chrf(Texts{"ab\xFF"}, Texts{"ab\uFFFD"}).score, 100, 1e-9);
  EXPECT_EQ(bleu(Texts{"a b c \xC3"}, Texts{"a b c \uFFFD"}).matches, (std::array<int64_t, 4>{4, 3, 2, 1}));
}

TEST(Scores, RefuseUnequalCountsAndSettingsOutOfRange) {
  const Texts one{"a"}, two{"a", "b"}, none;
  const std::vector<Texts> no_sets, second_short{two, one};
  EXPECT_TAPE_ERROR(bleu(none, none), ErrorKind::config, "bleu: no hypotheses");
  EXPECT_TAPE_ERROR(bleu(one, no_sets), ErrorKind::config, "bleu: no references");
  EXPECT_TAPE_ERROR(bleu(two, second_short), ErrorKind::shape, "bleu: 2 hypotheses but 1 references in set 1");
  EXPECT_TAPE_ERROR(chrf(one, two), ErrorKind::shape, "chrf: 1 hypotheses but 2 references in set 0");
  EXPECT_TAPE_ERROR(bleu(one, one, {.smoothing = BleuSmoothing::floor, .smoothing_value = -1}), ErrorKind::config,
                    "bleu: smoothing_value must be a finite number of at least 0, got -1");
  EXPECT_TAPE_ERROR(bleu_tokenizer("zh"), ErrorKind::config,
                    "bleu: tokenizer \"zh\" is not one of 13a, none, intl, char");
  EXPECT_TAPE_ERROR(chrf(one, one, {.char_order = -1}), ErrorKind::config, "chrf: char_order must be 0 to 100, got -1");
  EXPECT_TAPE_ERROR(chrf(one, one, {.char_order = 0}), ErrorKind::config, "chrf: char_order and word_order are both 0");
  EXPECT_TAPE_ERROR(chrf(one, one, {.beta = 0}), ErrorKind::config, "chrf: beta must be 1 to 1000, got 0");
}

}  // namespace
}  // namespace tape::text
