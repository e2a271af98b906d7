#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include <fmt/format.h>

#include "base/file.h"
#include "tests/fuzz/target.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"

// Runs the inputs of corpus/ without libFuzzer: the seeds of scripts/fuzz.sh and its findings.

namespace tape::fuzz {
namespace {

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// The text truncated, or with a byte changed, inserted or removed, reproducibly.
std::string changed(std::string text, std::mt19937& random) {
  if (text.empty()) return text;
  const size_t at = random() % text.size();
  const auto byte = static_cast<char>(random() % 256);
  switch (random() % 4) {
    case 0:
      return text.substr(0, at);
    case 1:
      text[at] = byte;
      return text;
    case 2:
      return text.insert(at, 1, byte);
    default:
      return text.erase(at, 1);
  }
}

class Corpus : public testing::TestWithParam<Target> {
 protected:
  std::string folder() const { return source_path(fmt::format("tests/fuzz/corpus/{}", GetParam().name)); }
};

TEST_P(Corpus, SatisfiesEveryInvariant) {
  const std::vector<std::string> names = entries_of(folder());
  ASSERT_FALSE(names.empty());
  accepted_inputs() = 0;
  for (const std::string& name : names)
    EXPECT_NO_THROW(GetParam().run(bytes_of(read_text(folder() + "/" + name)))) << name;
  const bool reads_anything = GetParam().name == "command_line" || GetParam().name == "scores" ||
                              GetParam().name == "text_encoding" || GetParam().name == "utf8";
  EXPECT_TRUE(reads_anything || accepted_inputs() > 0) << "every input is rejected";
}

TEST_P(Corpus, SatisfiesEveryInvariantAfterMutation) {
  std::mt19937 random(1);
  for (const std::string& name : entries_of(folder())) {
    const std::string text = read_text(folder() + "/" + name);
    for (int time = 0; time < 20; ++time)
      EXPECT_NO_THROW(GetParam().run(bytes_of(changed(text, random)))) << name << ", change " << time;
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Targets, MatchTheFoldersOfTheCorpus) {
  std::vector<std::string> names;
  for (const Target& one : targets()) names.emplace_back(one.name);
  std::ranges::sort(names);
  EXPECT_EQ(entries_of(source_path("tests/fuzz/corpus")), names);
  EXPECT_THROW(target("onnx"), std::invalid_argument);
}

TEST(Targets, PropagateViolationsAndOtherExceptions) {
  EXPECT_FALSE(accepted([] { raise(ErrorKind::format, "file: not a tensor"); }));
  EXPECT_TRUE(accepted([] {}));
  EXPECT_EQ(accepted([] { return 3; }), 3);
  EXPECT_THROW(expect(false, "{} is not {}", 1, 2), InvariantViolation);
  EXPECT_THROW(accepted([] { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_THROW(accepted([] { raise(ErrorKind::format, "[json.exception.type_error.302]"); }), InvariantViolation);
  EXPECT_FALSE(accepted([] { raise(ErrorKind::format, "{:1000000}", "wide"); })) << "an Error truncates its message";
}

TEST(Parts, AreSplitAtSeparatorLines) {
  const std::string text = "a\n%%\n\n%%\nb\n";
  EXPECT_EQ(parts_of(bytes_of(text)), (std::vector<std::string_view>{"a", "", "b\n"}));
  EXPECT_EQ(parts_of({}), std::vector<std::string_view>{""});
}

}  // namespace
}  // namespace tape::fuzz
