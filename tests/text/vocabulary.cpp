#include "text/vocabulary.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape::text {
namespace {

using testing::ElementsAre;

const std::vector<std::string> words = {"drei", "und", "dreißig"};

class VocabularyFile : public testing::Test {
 protected:
  std::string path() const { return folder_ / "vocab.txt"; }

  void write(std::string_view content) const { write_text(path(), content); }

  void expect_refused(std::string_view content, const std::string& message) const {
    write(content);
    EXPECT_TAPE_ERROR(Vocabulary::load(path()), ErrorKind::format, path() + message);
  }

  const TemporaryFolder folder_;
};

TEST(Vocabulary, SpecialTokensComeFirst) {
  const Vocabulary empty;
  EXPECT_EQ(empty.size(), 4);
  const Vocabulary vocabulary(words);
  EXPECT_EQ(vocabulary.size(), 7);
  EXPECT_EQ(vocabulary.id("<pad>"), Vocabulary::pad);
  EXPECT_EQ(vocabulary.id("<bos>"), Vocabulary::bos);
  EXPECT_EQ(vocabulary.id("<eos>"), Vocabulary::eos);
  EXPECT_EQ(vocabulary.id("<unk>"), Vocabulary::unk);
  EXPECT_EQ(vocabulary.id("drei"), 4);
  EXPECT_EQ(vocabulary.id("dreißig"), 6);
  EXPECT_EQ(vocabulary.token(5), "und");
  EXPECT_TRUE(vocabulary.contains("und"));
  EXPECT_FALSE(vocabulary.contains("vier"));
}

TEST(Vocabulary, EncodesAndDecodes) {
  const Vocabulary vocabulary(words);
  EXPECT_THAT(vocabulary.encode(std::vector<std::string>{"dreißig", "vier", "drei"}), ElementsAre(6, 3, 4));
  EXPECT_THAT(vocabulary.decode(std::vector<int64_t>{1, 4, 0, 3, 6, 2, 5}), ElementsAre("drei", "<unk>", "dreißig"));
  EXPECT_THAT(vocabulary.decode(std::vector<int64_t>{}), ElementsAre());
}

TEST(Vocabulary, RefusesIdsOutside) {
  const Vocabulary vocabulary(words);
  EXPECT_TAPE_ERROR(vocabulary.token(7), ErrorKind::index,
                    "Vocabulary: id 7 is not in 0..6 (the vocabulary has 7 tokens)");
  EXPECT_TAPE_ERROR(vocabulary.decode(std::vector<int64_t>{4, -1}), ErrorKind::index,
                    "Vocabulary: id -1 is not in 0..6 (the vocabulary has 7 tokens)");
}

TEST(Vocabulary, RefusesBadTokens) {
  const auto make = [](const std::vector<std::string>& tokens) { Vocabulary{tokens}; };
  EXPECT_TAPE_ERROR(make({"a", "b", "a"}), ErrorKind::config, "Vocabulary: token 2: token \"a\" has id 4 already");
  EXPECT_TAPE_ERROR(make({"<eos>"}), ErrorKind::config, "Vocabulary: token 0: token \"<eos>\" has id 2 already");
  EXPECT_TAPE_ERROR(make({""}), ErrorKind::config, "Vocabulary: token 0: empty token");
  EXPECT_TAPE_ERROR(make({"a\nb"}), ErrorKind::config, "Vocabulary: token 0: token with a line break or NUL byte");
  EXPECT_TAPE_ERROR(make({"\xC3"}), ErrorKind::config, "Vocabulary: token 0: token is not UTF-8");
}

TEST_F(VocabularyFile, ComesBackAsItWasSaved) {
  Vocabulary(words).save(path());
  EXPECT_EQ(read_text(path()), "<pad>\n<bos>\n<eos>\n<unk>\ndrei\nund\ndreißig\n");
  const Vocabulary loaded = Vocabulary::load(path());
  EXPECT_EQ(loaded.size(), 7);
  for (int64_t id = 0; id < 7; ++id) EXPECT_EQ(loaded.id(loaded.token(id)), id);
  EXPECT_EQ(loaded.token(6), "dreißig");
}

TEST_F(VocabularyFile, MayLackTheLastLineFeed) {
  write("<pad>\n<bos>\n<eos>\n<unk>\ndrei");
  EXPECT_EQ(Vocabulary::load(path()).id("drei"), 4);
}

TEST_F(VocabularyFile, NamesTheLineAtFault) {
  const std::string head = "<pad>\n<bos>\n<eos>\n<unk>\n";
  expect_refused(head + "a\nb\na\n", ":7: token \"a\" has id 4 already");
  expect_refused(head + "<bos>\n", ":5: token \"<bos>\" has id 1 already");
  expect_refused(head + "a\n\nb\n", ":6: empty token");
  expect_refused(head + "a\n\xFF\n", ":6: token is not UTF-8");
  expect_refused("<pad>\r\n<bos>\r\n",
                 ":1: the line ends with a carriage return; lines must end with a line feed alone");
  expect_refused("<pad>\n<s>\n<eos>\n<unk>\n",
                 ":2: \"<s>\" where <bos> must stand: a vocabulary begins with <pad>, <bos>, <eos>, <unk>");
  expect_refused("<pad>\n<bos>\n", ": has 2 lines, a vocabulary begins with <pad>, <bos>, <eos>, <unk>");
  expect_refused("", ": has 0 lines, a vocabulary begins with <pad>, <bos>, <eos>, <unk>");
}

TEST_F(VocabularyFile, TellsWhyAFileCannotBeReadOrWritten) {
  EXPECT_TAPE_ERROR(Vocabulary::load(path()), ErrorKind::io, path() + ": cannot open: No such file or directory");
  EXPECT_TAPE_ERROR(Vocabulary::load(folder_.path()), ErrorKind::io, folder_.path() + ": cannot read: Is a directory");
  EXPECT_TAPE_ERROR(Vocabulary().save(folder_ / "no/vocab.txt"), ErrorKind::io,
                    folder_ / "no/vocab.txt" + ": cannot create the file: No such file or directory");
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_TAPE_ERROR(Vocabulary().save("/dev/full"), ErrorKind::io,
                      "/dev/full: cannot write: No space left on device");
  }
}

}  // namespace
}  // namespace tape::text
