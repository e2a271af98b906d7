#include "autograd/kernels/random/tokens.h"

#include <fmt/format.h>

#include "models/decoding/generation_batch.h"
#include "models/decoding/sampling.h"
#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;
using models::SamplingOptions;
using Ids = Array<int64_t>;

/// Rows of scores and texts, and what else a choice depends on.
template <class T>
struct TokenCase {
  SamplingOptions sampling = {};
  int64_t rows = 3, vocab = 40, limit = 0, no_repeat_ngram = 0;
  Ids hidden = {}, stop_ids = {};
  uint64_t seed = 7, draw = 5;
  Array<T> scores = {};
  std::vector<Ids> texts = {{1, 2, 3, 1, 2}, {7}, {4, 4, 4, 4}};

  std::string text() const {
    return fmt::format("V {}, temperature {}, top_k {}, top_p {}, min_p {}, penalty {}, limit {}, n-gram {}", vocab,
                       sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p,
                       sampling.repetition_penalty, limit, no_repeat_ngram);
  }
};

template <class T>
class CudaTokens : public KernelTest<T> {
 protected:
  /// The choice of the CPU for each row.
  static Ids expected(const TokenCase<T>& c) {
    Ids tokens;
    for (int64_t row = 0; row < c.rows; ++row) {
      const Ids& text = c.texts[static_cast<size_t>(row)];
      std::vector<double> scores(c.scores.begin() + row * c.vocab, c.scores.begin() + (row + 1) * c.vocab);
      const auto hide = [&](int64_t id) { scores.at(static_cast<size_t>(id)) = -kInf; };
      for (int64_t id = c.limit; c.limit > 0 && id < c.vocab; ++id) hide(id);
      for (const int64_t id : c.hidden) hide(id);
      for (const int64_t id : models::repeating_tokens(text, c.no_repeat_ngram)) hide(id);
      Generator draws(0);
      draws.set_state(c.seed + static_cast<uint64_t>(10 + row), c.draw);
      tokens.push_back(models::next_token(scores, text, c.sampling, draws));
    }
    return tokens;
  }

  /// The columns of all texts after a choice, the choices, and whether the rows have ended.
  struct Chosen {
    Ids text, next;
    Array<uint8_t> ended;
    Finding finding;
  };
  static Chosen chosen(const TokenCase<T>& c, const Array<uint8_t>& ended_before) {
    int64_t length = 0;
    for (const Ids& text : c.texts) length = std::max<int64_t>(length, std::ssize(text));
    const int64_t columns = length + 2;
    Ids text, begin, numbers, lists = c.hidden;
    for (int64_t row = 0; row < c.rows; ++row) {
      const Ids& ids = c.texts[static_cast<size_t>(row)];
      begin.push_back(length - std::ssize(ids));
      numbers.push_back(10 + row);
      text.resize(text.size() + static_cast<size_t>(begin.back()), 9);
      text.insert(text.end(), ids.begin(), ids.end());
      text.resize(text.size() + 2, -5);
    }
    lists.insert(lists.end(), c.stop_ids.begin(), c.stop_ids.end());
    lists.push_back(0);
    const DeviceArray<T> scores(c.scores);
    const DeviceArray<int64_t> text_there(text), begin_there(begin), numbers_there(numbers), lists_there(lists),
        next(Ids(static_cast<size_t>(c.rows)));
    const DeviceArray<uint8_t> ended(ended_before);
    const DeviceArray<Finding> finding(Array<Finding>(1));
    const TokenChoice how{.rows = c.rows,
                          .vocab = c.vocab,
                          .limit = c.limit > 0 ? c.limit : c.vocab,
                          .columns = columns,
                          .length = length,
                          .hidden = std::ssize(c.hidden),
                          .stops = std::ssize(c.stop_ids),
                          .no_repeat_ngram = c.no_repeat_ngram,
                          .filler = 3,
                          .top_k = c.sampling.top_k,
                          .temperature = c.sampling.temperature,
                          .top_p = c.sampling.top_p,
                          .min_p = c.sampling.min_p,
                          .repetition_penalty = c.sampling.repetition_penalty,
                          .seed = c.seed,
                          .draw = c.draw};
    tokens<T>(kOnDevice).choose(how,
                                {.scores = scores.constant(),
                                 .numbers = numbers_there.constant(),
                                 .begin = begin_there.constant(),
                                 .hidden = lists_there.constant(),
                                 .stop_ids = lists_there.constant() + c.hidden.size(),
                                 .text = text_there.get(),
                                 .next = next.get(),
                                 .ended = flags(ended.get())},
                                1, finding.get());
    Chosen result{.text = {}, .next = next.values(), .ended = ended.values(), .finding = finding.values()[0]};
    const Ids after = text_there.values();
    for (int64_t row = 0; row < c.rows; ++row) {
      result.text.push_back(after[static_cast<size_t>(row * columns + length)]);
      EXPECT_EQ(after[static_cast<size_t>(row * columns + length + 1)], -5) << "beyond the choice";
    }
    return result;
  }

  void check(const TokenCase<T>& c) {
    SCOPED_TRACE(c.text());
    const Ids wanted = expected(c);
    const Array<uint8_t> running(static_cast<size_t>(c.rows), 0);
    const Ids found = this->on_device([&] {
      const Chosen choice = chosen(c, running);
      EXPECT_EQ(choice.text, choice.next);
      EXPECT_EQ(choice.finding.check, 0);
      return choice.next;
    });
    EXPECT_EQ(found, wanted);
  }
};
TYPED_TEST_SUITE(CudaTokens, BothTypes);

/// Options that each change the choice, and some together. No number of equal probabilities adds up to 1 - top_p, where
/// rounding decides.
const std::vector<SamplingOptions> kSampling = {
    {.temperature = 0},
    {.temperature = 0, .repetition_penalty = 1.7},
    {.temperature = 1},
    {.temperature = 0.01},
    {.temperature = 30},
    {.temperature = 1, .top_k = 1},
    {.temperature = 1, .top_k = 7},
    {.temperature = 1, .top_p = 0},
    {.temperature = 1, .top_p = 0.307},
    {.temperature = 1, .top_p = 0.953},
    {.temperature = 1, .min_p = 0.2},
    {.temperature = 1, .min_p = 1},
    {.temperature = 1, .repetition_penalty = 0.6},
    {.temperature = 0.7, .top_k = 20, .top_p = 0.803, .min_p = 0.05, .repetition_penalty = 1.3},
};

TYPED_TEST(CudaTokens, AreThoseOfTheCpu) {
  for (const int64_t vocab : {1, 2, 33, 700, 5000})
    for (const SamplingOptions& options : kSampling) {
      TokenCase<TypeParam> c{.sampling = options, .vocab = vocab, .draw = static_cast<uint64_t>(vocab)};
      c.scores = random_values<TypeParam>(c.rows * vocab, static_cast<uint32_t>(vocab), -6, 6);
      this->check(c);
    }
}

TYPED_TEST(CudaTokens, AreThoseOfTheCpuForEqualScores) {
  for (const int64_t vocab : {4, 100, 1500})
    for (const SamplingOptions& options : kSampling)
      for (uint64_t draw = 0; draw < 3; ++draw) {
        TokenCase<TypeParam> c{.sampling = options, .vocab = vocab, .draw = draw};
        for (const int64_t value : random_integers(c.rows * vocab, -2, 3, 3))
          c.scores.push_back(static_cast<TypeParam>(value));
        this->check(c);
      }
}

TYPED_TEST(CudaTokens, KeepExactlyTheMassOfTopP) {
  for (const double top_p : {0.76, 0.75, 0.5, 0.25, 0.0})
    for (uint64_t draw = 0; draw < 12; ++draw) {
      TokenCase<TypeParam> c{.sampling = {.top_p = top_p}, .vocab = 4, .draw = draw};
      c.scores = Array<TypeParam>(static_cast<size_t>(c.rows * c.vocab));
      this->check(c);
    }
}

TYPED_TEST(CudaTokens, LeaveOutIds) {
  TokenCase<TypeParam> c{
      .sampling = {.temperature = 5}, .vocab = 12, .limit = 9, .no_repeat_ngram = 2, .hidden = {0, 5}};
  c.scores = random_values<TypeParam>(c.rows * c.vocab, 4);
  for (int64_t& scored : c.texts[0]) scored %= 5;
  for (uint64_t draw = 0; draw < 10; ++draw)
    for (const int64_t ngram : {0, 1, 2, 3}) {
      c.draw = draw;
      c.no_repeat_ngram = ngram;
      this->check(c);
    }
  c.scores[3] = -std::numeric_limits<TypeParam>::infinity();
  this->check(c);
}

TYPED_TEST(CudaTokens, EndRows) {
  TokenCase<TypeParam> c{.sampling = {.temperature = 0}, .vocab = 6, .stop_ids = {2, 4}};
  c.scores = {0, 1, 2, 3, 9, 0, 0, 1, 2, 9, 4, 0, 9, 1, 2, 3, 4, 0};
  const auto choice = this->chosen(c, {0, 0, 1});
  EXPECT_EQ(choice.next, (Ids{4, 3, 3})) << "a stop id, a token, and the filler";
  EXPECT_EQ(choice.ended, (Array<uint8_t>{1, 0, 1}));
}

TYPED_TEST(CudaTokens, ReportScoresThatCannotBeSampled) {
  const auto nan = std::numeric_limits<TypeParam>::quiet_NaN(), inf = std::numeric_limits<TypeParam>::infinity();
  const auto finding = [&](int64_t place, TypeParam value, const Ids& hidden = {}) {
    TokenCase<TypeParam> c{.vocab = 6, .hidden = hidden, .scores = Array<TypeParam>(18, TypeParam(1))};
    c.scores[static_cast<size_t>(place)] = value;
    const auto choice = this->chosen(c, {0, 0, 0});
    EXPECT_EQ(choice.next[1] == kNoToken, choice.finding.check == 1);
    EXPECT_EQ(choice.ended[1], choice.finding.check == 1);
    return choice.finding;
  };
  EXPECT_EQ(finding(9, nan).position, 9);
  EXPECT_EQ(finding(9, nan).value, kScoreIsNan);
  EXPECT_EQ(finding(11, inf).position, 11);
  EXPECT_EQ(finding(11, inf).value, kScoreIsInfinite);
  EXPECT_EQ(finding(9, nan, {3}).check, 0) << "the score of an id that cannot be chosen";
  EXPECT_EQ(finding(9, -inf).check, 0);
  TokenCase<TypeParam> never{.vocab = 6, .scores = Array<TypeParam>(18, -inf)};
  const auto choice = this->chosen(never, {0, 0, 0});
  EXPECT_EQ(choice.next, Ids(3, kNoToken));
  EXPECT_EQ(choice.finding.value, kNoScoreIsFinite);
}

}  // namespace
}  // namespace tape::kernels
