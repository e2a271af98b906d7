#include "models/decoding/beam.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/shape/shape.h"
#include "models/decoding/greedy.h"
#include "models/folders/folder.h"
#include "tests/models/sources.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"

namespace tape::models {
namespace {

using Words = std::vector<int64_t>;

void expect_same(const std::vector<BeamHypothesis>& a, const std::vector<BeamHypothesis>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tokens, b[i].tokens) << what << ", hypothesis " << i;
    EXPECT_NEAR(a[i].score, b[i].score, 1e-9) << what << ", hypothesis " << i;
    EXPECT_EQ(a[i].length, b[i].length) << what << ", hypothesis " << i;
  }
}

TEST(Beam, IsGreedyWithOneBeam) {
  size_t ended = 0, cut = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Lively model(seed, 12, 3);
    const Tensor src = sources(seed + 100, 5, 6);
    const auto greedy = greedy_decode(model, src, {.max_length = 12});
    for (const double alpha : {0.0, 1.0, 2.0}) {
      const auto found = beam_search(model, src, {.beams = 1, .max_length = 12, .length_penalty = alpha});
      ASSERT_EQ(found.size(), 5u);
      for (size_t row = 0; row < 5; ++row) {
        ASSERT_EQ(found[row].size(), 1u);
        EXPECT_EQ(found[row][0].tokens, greedy[row]) << "seed " << seed << ", row " << row;
        ++(greedy[row].size() < 12 ? ended : cut);
      }
    }
  }
  EXPECT_GT(ended, 5u);
  EXPECT_GT(cut, 5u);
}

TEST(Beam, FindsTheSameWithoutScores) {
  std::set<size_t> lengths;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Lively model(seed, 12, 3);
    if (seed == 6) prefer(model, 0);  // padding, which is never generated
    const Tensor src = sources(seed + 100, 5, 6);
    const std::vector<BeamOptions> one = {{.beams = 1, .max_length = 12},
                                          {.beams = 1, .max_length = 9, .forced_bos = 7, .use_cache = false},
                                          {.beams = 1, .max_lengths = {1, 3, 5, 7, 9}, .forced_eos = true},
                                          {.beams = 1, .max_length = 6, .vocabulary = 12},
                                          {.beams = 1, .max_length = 12, .vocabulary = 10}};
    const std::vector<BeamOptions> others = {{.beams = 1, .max_length = 12, .min_length = 4},
                                             {.beams = 1, .max_length = 12, .no_repeat_ngram = 2},
                                             {.beams = 3, .n_best = 2, .max_length = 12}};
    for (const bool is_greedy : {true, false})
      for (BeamOptions options : is_greedy ? one : others) {
        const auto scored = beam_search(model, src, options);
        options.scores = false;
        const auto found = beam_search(model, src, options);
        ASSERT_EQ(found.size(), scored.size());
        for (size_t row = 0; row < found.size(); ++row) {
          ASSERT_EQ(found[row].size(), scored[row].size());
          for (size_t i = 0; i < found[row].size(); ++i) {
            EXPECT_EQ(found[row][i].tokens, scored[row][i].tokens) << "seed " << seed << ", row " << row;
            EXPECT_EQ(found[row][i].length, scored[row][i].length);
            EXPECT_EQ(found[row][i].score, is_greedy ? 0 : scored[row][i].score);
            lengths.insert(found[row][i].tokens.size());
          }
        }
      }
  }
  EXPECT_GT(lengths.size(), 6U);
}

TEST(Beam, IsTheSameWithAndWithoutACache) {
  std::set<size_t> lengths;
  std::set<int64_t> seen;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Lively model(seed, 12, 3);
    const Tensor src = sources(seed + 50, 6, 5);
    const BeamOptions options{.beams = 3, .n_best = 3, .max_length = 20};
    BeamOptions uncached = options;
    uncached.use_cache = false;
    const auto a = beam_search(model, src, options), b = beam_search(model, src, uncached);
    for (size_t row = 0; row < a.size(); ++row) {
      expect_same(a[row], b[row], fmt::format("seed {}, row {}", seed, row));
      for (const BeamHypothesis& h : a[row]) {
        lengths.insert(h.tokens.size());
        seen.insert(h.tokens.begin(), h.tokens.end());
      }
    }
  }
  // Make sure the comparison is meaningful: searches end at different steps and the tokens differ.
  EXPECT_GT(lengths.size(), 4u);
  EXPECT_GT(seen.size(), 6u);
  EXPECT_FALSE(seen.contains(0)) << "padding is never generated";
  EXPECT_FALSE(seen.contains(2)) << "nor is the end";
}

TEST(Beam, GivesEachRowTheResultOfSearchingItAlone) {
  for (const uint64_t seed : {3u, 4u}) {
    Lively model(seed, 12, 3);
    const Tensor src = sources(9, 6, 6);
    const BeamOptions options{.beams = 4, .n_best = 4, .max_length = 15};
    const auto together = beam_search(model, src, options);
    std::set<int64_t> lengths;
    for (const auto& row : together) lengths.insert(row.back().length);
    EXPECT_GT(lengths.size(), 1u) << "rows end at different steps";
    for (int64_t row = 0; row < 6; ++row) {
      // A batch of one row without the padding.
      const int64_t length = std::max<int64_t>(1, 6 - row);
      const Tensor alone = slice(slice(src, 0, {.start = row, .end = row + 1}), 1, {.start = 0, .end = length});
      expect_same(beam_search(model, alone, options)[0], together[static_cast<size_t>(row)],
                  fmt::format("seed {}, row {}", seed, row));
    }
  }
}

/// Sum of the log probabilities of the tokens after bos.
double log_probability(Transformer& model, const Tensor& src, const Words& said) {
  Words with_bos{1};
  with_bos.insert(with_bos.end(), said.begin(), said.end() - 1);
  const Tensor ids = from_vector(with_bos, {1, std::ssize(with_bos)});
  const NoGrad no_grad;
  const Tensor log_p = log_softmax(model(src, ids), -1);
  double sum = 0;
  for (int64_t t = 0; t < std::ssize(said); ++t)
    sum += log_p.data<double>()[t * log_p.size(-1) + said[static_cast<size_t>(t)]];
  return sum;
}

/// Every translation of at most `longest` tokens, including the end unless cut off; best score first.
std::vector<BeamHypothesis> all_translations(Transformer& model, const Tensor& src, int64_t vocab, int64_t longest,
                                             int64_t shortest, double alpha) {
  std::vector<BeamHypothesis> found;
  std::vector<Words> open{{}};
  for (int64_t length = 1; length <= longest; ++length) {
    std::vector<Words> next;
    for (const Words& words : open)
      for (int64_t token = 1; token < vocab; ++token) {
        Words longer = words;
        longer.push_back(token);
        if (token != 2 && length < longest) next.push_back(longer);
        if (token == 2 ? length <= shortest : length < longest) continue;
        const double score = log_probability(model, src, longer) / std::pow(static_cast<double>(length), alpha);
        found.push_back({token == 2 ? words : longer, score, length});
      }
    open = next;
  }
  std::sort(found.begin(), found.end(),
            [](const BeamHypothesis& a, const BeamHypothesis& b) { return a.score > b.score; });
  return found;
}

TEST(Beam, FindsTheBestTranslationsIfItIsWideEnough) {
  std::set<Words> winners;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Lively model(seed, 4, 0.5);
    const Tensor src = sources(seed, 1, 4);
    for (const double alpha : {-1.0, 0.0, 0.6, 1.0, 3.0})
      for (const int64_t shortest : {0, 2}) {
        // 31 translations: two words that may occur anywhere, and the end.
        const auto all = all_translations(model, src, 4, 4, shortest, alpha);
        const auto found = beam_search(
            model, src,
            {.beams = 64, .n_best = 64, .max_length = 4, .min_length = shortest, .length_penalty = alpha})[0];
        expect_same(found, all, fmt::format("seed {}, alpha {}, at least {}", seed, alpha, shortest));
        EXPECT_EQ(all.size(), shortest ? 28u : 31u);
        winners.insert(found[0].tokens);
      }
  }
  EXPECT_GT(winners.size(), 2u) << "alpha makes no difference";
}

TEST(Beam, ReturnsDistinctHypothesesBestFirst) {
  Lively model(2);
  const auto found = beam_search(model, sources(7, 4, 5), {.beams = 6, .n_best = 5, .max_length = 10});
  for (const auto& row : found) {
    ASSERT_EQ(row.size(), 5u);
    std::set<Words> different;
    for (size_t i = 0; i < row.size(); ++i) {
      different.insert(row[i].tokens);
      EXPECT_GE(row[i > 0 ? i - 1 : 0].score, row[i].score);
      const auto words = std::ssize(row[i].tokens);
      EXPECT_TRUE(row[i].length == words + 1 || (words == 10 && row[i].length == 10));
    }
    EXPECT_EQ(different.size(), 5u);
  }
}

using Json = nlohmann::json;

/// A random model of fixtures/hugging_face/ with weights scaled by a fixture's factors, so that its tokens vary.
std::unique_ptr<Transformer> lively(const char* name, const Json& factors) {
  auto model = load<Transformer>(fixture_path(fmt::format("hugging_face/{}", name)));
  const NoGrad no_grad;
  for (auto& [parameter_name, parameter] : model->named_parameters())
    if (parameter.rank() == 2)
      parameter.mul_(factors.at(parameter_name.find("layers") != std::string::npos ? "layers" : "table").get<double>());
  return model;
}

Tensor tensor_of(const std::vector<Words>& rows) {
  Words flat;
  for (const Words& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return from_vector(flat, {std::ssize(rows), std::ssize(rows[0])});
}

/// Compares with what generate() found for each row; transformers summed scores in f32.
void expect_those_of_transformers(const std::vector<std::vector<BeamHypothesis>>& found, const Json& search,
                                  const std::string& what) {
  ASSERT_EQ(found.size(), search.at("tokens").size()) << what;
  for (size_t row = 0; row < found.size(); ++row) {
    ASSERT_EQ(found[row].size(), search.at("tokens")[row].size()) << what;
    for (size_t i = 0; i < found[row].size(); ++i) {
      EXPECT_EQ(found[row][i].tokens, search.at("tokens")[row][i].get<Words>()) << what << ", row " << row << ", " << i;
      const double score = search.at("scores")[row][i];
      EXPECT_NEAR(found[row][i].score, score, 1e-5 * std::max(1.0, -score)) << what << ", row " << row << ", " << i;
    }
  }
}

/// tests/fixtures/make_beam.py
TEST(Beam, AgreesWithTransformers) {
  const Json& expected = fixture_json("beam.json");
  const auto model = lively("marian", expected);
  const NoGrad no_grad;
  const Tensor src = tensor_of(expected.at("src"));
  auto bias = expected.at("bias").get<std::vector<double>>();
  std::set<size_t> lengths;
  for (const auto& search : expected.at("searches")) {
    bias[0] = search.at("end");
    model->output->bias.copy_(from_vector(bias));
    const auto found = beam_search(*model, src,
                                   {.beams = search.at("beams"),
                                    .n_best = search.at("n_best"),
                                    .max_length = search.at("max_length"),
                                    .min_length = search.at("min_length"),
                                    .length_penalty = search.at("length_penalty"),
                                    .bos = model->config().bos_id,
                                    .eos = model->config().eos_id});
    expect_those_of_transformers(
        found, search,
        fmt::format("{} beams, alpha {}", search.at("beams").dump(), search.at("length_penalty").dump()));
    for (const auto& row : found)
      for (const BeamHypothesis& hypothesis : row) lengths.insert(hypothesis.tokens.size());
  }
  EXPECT_GT(lengths.size(), 6u);
}

TEST(Beam, GeneratesOnlyIdsBelowVocabulary) {
  const auto model = lively("marian", fixture_json("beam.json"));
  const Tensor src = tensor({{3, 4, 5}, {6, 7, 8}}, i64);
  const auto words = [&](int64_t vocabulary) {
    std::set<int64_t> said;
    for (const auto& row : beam_search(*model, src,
                                       {.beams = 4,
                                       .n_best = 4,
                                       .max_length = 6,
                                       .bos = model->config().bos_id,
                                       .eos = model->config().eos_id,
                                       .vocabulary = vocabulary})) {
      EXPECT_EQ(row.size(), 4u);
      for (const BeamHypothesis& hypothesis : row) said.insert(hypothesis.tokens.begin(), hypothesis.tokens.end());
    }
    return said;
  };
  const int64_t last = *words(0).rbegin();
  EXPECT_LT(*words(last).rbegin(), last);
  EXPECT_TAPE_ERROR(words(14), ErrorKind::config, "beam_search: vocabulary must be from 0 to the model's 13, got 14");
}

/// tests/fixtures/make_forced_bos.py
TEST(Beam, StartsWithAForcedTokenAsInTransformers) {
  const Json& expected = fixture_json("forced_bos.json");
  std::set<size_t> lengths;
  for (const Json& of : expected.at("models")) {
    const std::string name = of.at("model");
    const auto model = lively(name.c_str(), of);
    const NoGrad no_grad;
    slice(model->tgt_embedding->weight, 0, {.start = model->config().eos_id, .end = model->config().eos_id + 1})
        .mul_(of.at("end").get<double>());
    if (of.contains("bias")) model->output->bias.copy_(from_vector(of.at("bias").get<std::vector<double>>()));
    const Tensor src = tensor_of(of.at("src"));
    for (const Json& search : of.at("searches"))
      for (const bool use_cache : {true, false}) {
        const auto found = beam_search(*model, src,
                                       {.beams = search.at("beams"),
                                        .n_best = search.at("beams"),
                                        .max_length = expected.at("max_length"),
                                        .bos = model->config().bos_id,
                                        .eos = model->config().eos_id,
                                        .forced_bos = search.at("forced"),
                                        .use_cache = use_cache});
        expect_those_of_transformers(
            found, search,
            fmt::format("{}, {} beams after {}", name, search.at("beams").dump(), search.at("forced").dump()));
        for (const auto& row : found)
          for (const BeamHypothesis& hypothesis : row) lengths.insert(hypothesis.tokens.size());
      }
  }
  EXPECT_GT(lengths.size(), 5u);
}

TEST(Beam, StartsWithAForcedToken) {
  Lively model(2);
  const Tensor src = sources(5, 3, 4);
  const int64_t padding = model.config().padding_id, eos = 2, forced = 7;
  for (const bool cache : {true, false}) {
    const auto found = beam_search(model, src, {.beams = 1, .max_length = 8, .forced_bos = forced, .use_cache = cache});
    for (int64_t row = 0; row < 3; ++row) {
      const NoGrad no_grad;
      const Tensor one = slice(src, 0, {.start = row, .end = row + 1}), memory = model.encode(one);
      Words said{1, forced};
      double sum = 0;
      int64_t length = 1;
      for (bool ended = false; !ended && length < 8; ++length) {
        const Tensor logits = model.decode(from_vector(said, {1, std::ssize(said)}), memory, one);
        const auto p = log_softmax(select(logits, 1, -1), -1).to_vector<double>();
        int64_t best = eos;
        for (int64_t word = 0; word < std::ssize(p); ++word)
          if (word != padding && p[static_cast<size_t>(word)] > p[static_cast<size_t>(best)]) best = word;
        sum += p[static_cast<size_t>(best)];
        ended = best == eos;
        if (!ended) said.push_back(best);
      }
      const BeamHypothesis& hypothesis = found[static_cast<size_t>(row)][0];
      EXPECT_EQ(hypothesis.tokens, Words(said.begin() + 1, said.end())) << row;
      EXPECT_NEAR(hypothesis.score, sum / static_cast<double>(length), 1e-9) << row;
    }
  }
  EXPECT_TAPE_ERROR(beam_search(model, src, {.forced_bos = 12}), ErrorKind::index,
                    "beam_search: forced_bos 12 is not in 0..11");
}

TEST(Beam, HidesTheEndUntilMinLength) {
  Lively model(1);
  prefer(model, 2);
  const Tensor src = sources(1, 2, 3);
  EXPECT_EQ(beam_search(model, src, {.max_length = 6})[0][0].tokens.size(), 0u);
  for (const auto& row : beam_search(model, src, {.max_length = 6, .min_length = 3})) {
    EXPECT_EQ(row[0].tokens.size(), 3u);
    EXPECT_EQ(row[0].length, 4);
  }
  EXPECT_EQ(beam_search(model, src, {.max_length = 3, .min_length = 3})[1][0].length, 3) << "cut off, without an end";
}

TEST(Beam, CutsEachRowAtItsOwnLength) {
  Lively model(1, 12, -50);
  const Tensor src = sources(1, 3, 5);
  const std::vector<int64_t> lengths{7, 2, 5};
  const auto found = beam_search(model, src, {.n_best = 2, .max_lengths = lengths});
  for (size_t row = 0; row < lengths.size(); ++row) {
    const auto alone = beam_search(model, src, {.n_best = 2, .max_length = lengths[row]});
    expect_same(found[row], alone[row], fmt::format("row {}", row));
    EXPECT_EQ(std::ssize(found[row][0].tokens), lengths[row]);
  }
}

TEST(Beam, NeverGeneratesPadding) {
  Lively model(1);
  prefer(model, 0);
  for (const auto& row : beam_search(model, sources(1, 2, 3), {.n_best = 4, .max_length = 4}))
    for (const BeamHypothesis& h : row) EXPECT_EQ(std::count(h.tokens.begin(), h.tokens.end(), 0), 0);
}

TEST(Beam, AcceptsAnEmptyBatch) {
  Lively model(1);
  EXPECT_TRUE(beam_search(model, empty({0, 3}, i64)).empty());
}

TEST(Beam, EndsWithoutHypothesesIfAllScoresAreNaN) {
  Lively model(1);
  const NoGrad no_grad;
  model.output->bias.fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(beam_search(model, sources(1, 1, 3))[0].empty());
  EXPECT_TRUE(beam_search(model, sources(1, 1, 3), {.beams = 1, .scores = false})[0].empty());
}

TEST(Beam, RefusesBeamsLengthsAndPenaltiesOutOfRange) {
  Lively model(1);
  const Tensor src = sources(1, 1, 2);
  EXPECT_TAPE_ERROR(beam_search(model, src, {.beams = 0}), ErrorKind::config,
                    "beam_search: beams must be at least 1, got 0");
  EXPECT_TAPE_ERROR(beam_search(model, src, {.n_best = 0}), ErrorKind::config,
                    "beam_search: n_best must be from 1 to beams, got 0 (beams 4)");
  EXPECT_TAPE_ERROR(beam_search(model, src, {.n_best = 5}), ErrorKind::config,
                    "beam_search: n_best must be from 1 to beams, got 5 (beams 4)");
  EXPECT_TAPE_ERROR(beam_search(model, src, {.max_length = 0}), ErrorKind::config,
                    "beam_search: max_length must be at least 1, got 0");
  EXPECT_TAPE_ERROR(beam_search(model, src, {.min_length = -1}), ErrorKind::config,
                    "beam_search: min_length must be from 0 to max_length, got -1 (max_length 128)");
  EXPECT_TAPE_ERROR(beam_search(model, src, {.max_length = 3, .min_length = 4}), ErrorKind::config,
                    "beam_search: min_length must be from 0 to max_length, got 4 (max_length 3)");
  EXPECT_TAPE_ERROR(beam_search(model, src, {.max_lengths = {3, 3}}), ErrorKind::config,
                    "beam_search: max_lengths must have one entry per source row, got 2 for 1");
  EXPECT_TAPE_ERROR(beam_search(model, src, {.max_lengths = {0}}), ErrorKind::config,
                    "beam_search: max_lengths must be at least 1 and min_length, got 0 (min_length 0)");
  EXPECT_TAPE_ERROR(beam_search(model, src, {.length_penalty = std::numeric_limits<double>::infinity()}),
                    ErrorKind::config, "beam_search: length_penalty must be finite, got inf");
}

}  // namespace
}  // namespace tape::models
