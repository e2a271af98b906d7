#include "text/corpus/number_words.h"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tape::text {
namespace {

using testing::ElementsAre;

struct Entry {
  int64_t n;
  std::string german;
  std::string english;
};

// Written by hand.
const std::vector<Entry> entries = {
    {0, "null", "zero"},
    {1, "eins", "one"},
    {2, "zwei", "two"},
    {3, "drei", "three"},
    {4, "vier", "four"},
    {5, "fünf", "five"},
    {6, "sechs", "six"},
    {7, "sieben", "seven"},
    {8, "acht", "eight"},
    {9, "neun", "nine"},
    {10, "zehn", "ten"},
    {11, "elf", "eleven"},
    {12, "zwölf", "twelve"},
    {13, "dreizehn", "thirteen"},
    {14, "vierzehn", "fourteen"},
    {15, "fünfzehn", "fifteen"},
    {16, "sechzehn", "sixteen"},
    {17, "siebzehn", "seventeen"},
    {18, "achtzehn", "eighteen"},
    {19, "neunzehn", "nineteen"},
    {20, "zwanzig", "twenty"},
    {21, "einundzwanzig", "twenty-one"},
    {22, "zweiundzwanzig", "twenty-two"},
    {26, "sechsundzwanzig", "twenty-six"},
    {27, "siebenundzwanzig", "twenty-seven"},
    {30, "dreißig", "thirty"},
    {31, "einunddreißig", "thirty-one"},
    {33, "dreiunddreißig", "thirty-three"},
    {40, "vierzig", "forty"},
    {44, "vierundvierzig", "forty-four"},
    {50, "fünfzig", "fifty"},
    {55, "fünfundfünfzig", "fifty-five"},
    {60, "sechzig", "sixty"},
    {66, "sechsundsechzig", "sixty-six"},
    {70, "siebzig", "seventy"},
    {77, "siebenundsiebzig", "seventy-seven"},
    {80, "achtzig", "eighty"},
    {88, "achtundachtzig", "eighty-eight"},
    {90, "neunzig", "ninety"},
    {99, "neunundneunzig", "ninety-nine"},
    {100, "einhundert", "one hundred"},
    {101, "einhunderteins", "one hundred one"},
    {105, "einhundertfünf", "one hundred five"},
    {111, "einhundertelf", "one hundred eleven"},
    {116, "einhundertsechzehn", "one hundred sixteen"},
    {121, "einhunderteinundzwanzig", "one hundred twenty-one"},
    {200, "zweihundert", "two hundred"},
    {217, "zweihundertsiebzehn", "two hundred seventeen"},
    {666, "sechshundertsechsundsechzig", "six hundred sixty-six"},
    {777, "siebenhundertsiebenundsiebzig", "seven hundred seventy-seven"},
    {999, "neunhundertneunundneunzig", "nine hundred ninety-nine"},
    {1000, "eintausend", "one thousand"},
    {1001, "eintausendeins", "one thousand one"},
    {1010, "eintausendzehn", "one thousand ten"},
    {1100, "eintausendeinhundert", "one thousand one hundred"},
    {1101, "eintausendeinhunderteins", "one thousand one hundred one"},
    {1111, "eintausendeinhundertelf", "one thousand one hundred eleven"},
    {1984, "eintausendneunhundertvierundachtzig", "one thousand nine hundred eighty-four"},
    {6000, "sechstausend", "six thousand"},
    {7070, "siebentausendsiebzig", "seven thousand seventy"},
    {11000, "elftausend", "eleven thousand"},
    {16016, "sechzehntausendsechzehn", "sixteen thousand sixteen"},
    {21000, "einundzwanzigtausend", "twenty-one thousand"},
    {21001, "einundzwanzigtausendeins", "twenty-one thousand one"},
    {30030, "dreißigtausenddreißig", "thirty thousand thirty"},
    {43017, "dreiundvierzigtausendsiebzehn", "forty-three thousand seventeen"},
    {43105, "dreiundvierzigtausendeinhundertfünf", "forty-three thousand one hundred five"},
    {60006, "sechzigtausendsechs", "sixty thousand six"},
    {100000, "einhunderttausend", "one hundred thousand"},
    {100001, "einhunderttausendeins", "one hundred thousand one"},
    {101000, "einhunderteintausend", "one hundred one thousand"},
    {101101, "einhunderteintausendeinhunderteins", "one hundred one thousand one hundred one"},
    {112012, "einhundertzwölftausendzwölf", "one hundred twelve thousand twelve"},
    {200001, "zweihunderttausendeins", "two hundred thousand one"},
    {321321, "dreihunderteinundzwanzigtausenddreihunderteinundzwanzig",
     "three hundred twenty-one thousand three hundred twenty-one"},
    {717171, "siebenhundertsiebzehntausendeinhunderteinundsiebzig",
     "seven hundred seventeen thousand one hundred seventy-one"},
    {900000, "neunhunderttausend", "nine hundred thousand"},
    {999999, "neunhundertneunundneunzigtausendneunhundertneunundneunzig",
     "nine hundred ninety-nine thousand nine hundred ninety-nine"},
};

TEST(NumberWords, MatchAHandWrittenList) {
  ASSERT_GE(entries.size(), 60U);
  for (const Entry& entry : entries) {
    EXPECT_EQ(german_number(entry.n), entry.german) << entry.n;
    EXPECT_EQ(english_number(entry.n), entry.english) << entry.n;
  }
}

template <class Function>
void expect_config_error(Function function, const std::string& message) {
  try {
    function();
    FAIL() << "no error, expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(error.what(), message);
  }
}

TEST(NumberWords, RefuseNumbersOutOfRange) {
  expect_config_error([] { german_number(-1); }, "german_number: -1 is not in 0..999999");
  expect_config_error([] { german_number(1'000'000); }, "german_number: 1000000 is not in 0..999999");
  expect_config_error([] { english_number(-7); }, "english_number: -7 is not in 0..999999");
  expect_config_error([] { training_sample(-1, 0); }, "training_sample: count -1 is negative");
  expect_config_error([] { held_out_sample(-1, 0); }, "held_out_sample: count -1 is negative");
}

// Compares 64-bit hashes, so a collision could only fail the test.
TEST(NumberWords, AreUniqueForEveryNumber) {
  std::vector<std::size_t> hashes;
  for (int64_t n = 0; n <= largest_number; ++n) {
    hashes.push_back(std::hash<std::string>()(german_number(n)));
    hashes.push_back(std::hash<std::string>()(english_number(n)));
  }
  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end()) << "two numbers have the same text";
}

TEST(NumberSplit, HoldsOutOneInTwentyAndNeverChanges) {
  int64_t count = 0;
  std::vector<int64_t> first;
  for (int64_t n = 0; n <= largest_number; ++n) {
    if (!held_out(n)) continue;
    ++count;
    if (first.size() < 5) first.push_back(n);
  }
  // Pinned, so that a model trained with one version is tested on unseen numbers in the next.
  EXPECT_EQ(count, 50'406);
  EXPECT_THAT(first, ElementsAre(10, 21, 48, 68, 83));
  EXPECT_FALSE(held_out(0));
}

TEST(TrainingSample, HasNoHeldOutNumberAndIsBalancedOverLengths) {
  constexpr int64_t draws = 60'000;
  std::vector<int> lengths(7);
  for (const int64_t n : training_sample(draws, 7)) {
    ASSERT_TRUE(n >= 0 && n <= largest_number && !held_out(n)) << n;
    ++lengths[std::to_string(n).size()];
  }
  // 1/12 per length from the second half of the mixture; from the first, 0.45 more for six digits and 0.045 for five.
  for (std::size_t digits = 1; digits <= 4; ++digits)
    EXPECT_NEAR(lengths[digits] / double{draws}, 0.085, 0.01) << digits;
  EXPECT_NEAR(lengths[5] / double{draws}, 0.083 + 0.045, 0.01);
  EXPECT_NEAR(lengths[6] / double{draws}, 0.083 + 0.45, 0.01);
}

TEST(TrainingSample, DependsOnlyOnItsSeed) {
  const auto numbers = training_sample(20, 1);
  EXPECT_EQ(numbers, training_sample(20, 1));
  EXPECT_NE(numbers, training_sample(20, 2));
  EXPECT_TRUE(std::ranges::equal(training_sample(5, 1), std::span(numbers).first(5)));
  EXPECT_TRUE(training_sample(0, 1).empty());
}

TEST(HeldOutSample, IsDistinctHeldOutAndRandom) {
  const auto sample = held_out_sample(1000, 3);
  ASSERT_EQ(sample.size(), 1000U);
  EXPECT_EQ(std::set<int64_t>(sample.begin(), sample.end()).size(), 1000U);
  EXPECT_TRUE(std::ranges::all_of(sample, held_out));
  EXPECT_FALSE(std::ranges::is_sorted(sample));
  EXPECT_EQ(sample, held_out_sample(1000, 3));
  EXPECT_NE(sample, held_out_sample(1000, 4));
  // A smaller sample is a prefix of a larger one, whose size is limited by the set.
  const auto all = held_out_sample(2'000'000, 3);
  EXPECT_EQ(all.size(), 50'406U);
  EXPECT_TRUE(std::equal(sample.begin(), sample.end(), all.begin()));
}

}  // namespace
}  // namespace tape::text
