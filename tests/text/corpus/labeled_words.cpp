#include "text/corpus/labeled_words.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "text/corpus/word_ids.h"

namespace tape::text {
namespace {

using testing::ElementsAre;
using Names = std::vector<std::string>;

class WordsWithLabels : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) { return write_text(folder_ / name, content); }
  void refuses(const std::string& content, ErrorKind kind, const std::string& message) {
    const std::string file = write("bad", content);
    EXPECT_TAPE_ERROR(read_conll(file), kind, fmt::format("{}: {}", file, message));
  }
  void refuses_record(const std::string& content, ErrorKind kind, const std::string& message) {
    const std::string file = write("bad.jsonl", content);
    EXPECT_TAPE_ERROR(read_labeled_words(file, RecordFormat::jsonl), kind, fmt::format("{}: {}", file, message));
  }
  TemporaryFolder folder_;
};

TEST_F(WordsWithLabels, AreReadFromConll) {
  const std::string file =
      write("a", "-DOCSTART- -X- O\n\nAnna NNP  B-PER\nKarin NNP I-PER \nsings VBZ O\r\n\n \n\nParis NNP B-LOC");
  const LabeledWords corpus = read_conll(file);
  EXPECT_THAT(corpus.words, ElementsAre(Names{"Anna", "Karin", "sings"}, Names{"Paris"}));
  EXPECT_THAT(corpus.label_names, ElementsAre("B-LOC", "B-PER", "I-PER", "O"));
  EXPECT_THAT(corpus.labels, ElementsAre(ElementsAre(1, 2, 3), ElementsAre(0)));
  EXPECT_THAT(corpus.line, ElementsAre(3, 9));
  EXPECT_EQ(corpus.size(), 2);
  EXPECT_THAT(corpus.notes, testing::Contains(fmt::format("{}: 1 line that begins with -DOCSTART- skipped", file)));
}

TEST_F(WordsWithLabels, MayContainSpacesBetweenTabs) {
  const LabeledWords corpus = read_conll(write("a", "New York\tplace\nis \t\tO\n"));
  EXPECT_THAT(corpus.words, ElementsAre(Names{"New York", "is"}));
  EXPECT_THAT(corpus.label_names, ElementsAre("O", "place"));
}

TEST_F(WordsWithLabels, AreReadFromRecords) {
  const std::string file = write("a.jsonl",
                                 "{\"tokens\": [\"Anna\", \"sings\"], \"labels\": [\"PER\", \"O\"]}\n"
                                 "{\"tokens\": [], \"labels\": []}\n"
                                 "{\"tokens\": [\"Bo\"], \"ner_tags\": [\"PER\"]}\n");
  const LabeledWords corpus = read_labeled_words(file, RecordFormat::jsonl);
  EXPECT_THAT(corpus.words, ElementsAre(Names{"Anna", "sings"}, Names{"Bo"}));
  EXPECT_THAT(corpus.labels, ElementsAre(ElementsAre(1, 0), ElementsAre(1)));
  EXPECT_THAT(corpus.line, ElementsAre(1, 3));
  EXPECT_THAT(corpus.notes, ElementsAre(fmt::format("{}: 1 record without words skipped", file)));
  const std::string other = write("b.jsonl", "{\"words\": [\"a\", \"b\"], \"pos\": [10, 9]}\n");
  const LabeledWords numbers = read_labeled_words(other, RecordFormat::jsonl, {.tokens = "words", .labels = "pos"});
  EXPECT_THAT(numbers.label_names, ElementsAre("9", "10"));
  EXPECT_THAT(numbers.labels, ElementsAre(ElementsAre(1, 0)));
  const LabeledWords table = read_labeled_words(write("c.csv", "tokens,labels\na b,X Y\n"), RecordFormat::csv);
  EXPECT_THAT(table.words, ElementsAre(Names{"a", "b"}));
}

TEST_F(WordsWithLabels, UseTheTrainingLabels) {
  const Names names{"O", "PER", "LOC"};
  EXPECT_THAT(read_conll(write("a", "Bo PER\n"), names).labels, ElementsAre(ElementsAre(1)));
  EXPECT_EQ(read_conll(write("a", "Bo PER\n"), names).label_names, names);
  const std::string file = write("b", "Bo PER\n\nis O\nX ORG\n");
  EXPECT_TAPE_ERROR(read_conll(file, names), ErrorKind::format,
                    fmt::format("{}: line 4: unknown label \"ORG\"; known labels: O, PER, LOC", file));
}

TEST_F(WordsWithLabels, NameFileAndLineIfTheyAreInvalid) {
  refuses("Anna B-PER\nsings\n", ErrorKind::format, "line 2: no label after the word \"sings\"");
  refuses("Anna\t\n", ErrorKind::format, "line 1: no label after the word \"Anna\"");
  refuses("Anna NNP B-PER\n\nsings O\n", ErrorKind::format, "line 3: 2 columns, but earlier lines have 3");
  refuses("", ErrorKind::config, "the file has no examples");
  refuses("-DOCSTART- O\n\n", ErrorKind::config, "the file has no examples");
  refuses_record("{\"tokens\": [\"a\", \"b\"], \"labels\": [\"O\"]}\n", ErrorKind::format,
                 "line 1: 2 words in \"tokens\", 1 label in \"labels\"");
  refuses_record("{\"tokens\": [\"a\"], \"ner_tags\": []}\n", ErrorKind::format,
                 "line 1: 1 word in \"tokens\", 0 labels in \"ner_tags\"");
  refuses_record("", ErrorKind::config, "the file has no examples");
  refuses_record("{\"tokens\": \"a\", \"labels\": [\"O\"]}\n", ErrorKind::format,
                 "line 1: field \"tokens\" must be an array, got a string");
}

TEST(WordIds, AreAtTheFirstTokenOfEachWord) {
  const Names words{"Anna", "Karin", "x", "y"};  // bytes 0 to 4, 5 to 10, 11, 13
  EXPECT_EQ(joined_words(words), "Anna Karin x y");
  Encoding encoding;
  // Added token, "An", "na", " Kar", "in", " x y" (two words), added token.
  encoding.ids = {9, 1, 2, 3, 4, 5, 9};
  encoding.offsets = {{0, 0}, {0, 2}, {2, 4}, {4, 8}, {8, 10}, {10, 14}, {0, 0}};
  encoding.special_tokens_mask = {1, 0, 0, 0, 0, 0, 1};
  const WordIds found = align_words(words, encoding);
  EXPECT_THAT(found.ids, testing::ElementsAreArray(encoding.ids));
  EXPECT_THAT(found.words, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(found.places, ElementsAre(1, 3, 5, 5));
  // Truncated after "Kar", with "x" dropped.
  encoding.offsets = {{0, 0}, {0, 4}, {4, 8}, {0, 0}};
  encoding.special_tokens_mask = {1, 0, 0, 1};
  EXPECT_THAT(align_words(words, encoding).words, ElementsAre(0, 1));
  encoding.offsets = {{0, 4}, {12, 14}};
  encoding.special_tokens_mask = {0, 0};
  EXPECT_THAT(align_words(words, encoding).words, ElementsAre(0, 3));
  EXPECT_THAT(align_words(words, encoding).places, ElementsAre(0, 1));
}

TEST(WordIds, IncludeATokenOfOnlyTheSpaceBefore) {
  const Names words{"x", "yz"};  // bytes 0, 2 to 3
  Encoding encoding;
  encoding.special_tokens_mask = {1, 0, 0, 0, 0, 1};
  // Added token, space added before the text, "x", " ", "yz", added token: with and without spaces in the offsets.
  encoding.offsets = {{0, 0}, {0, 1}, {0, 1}, {1, 2}, {2, 4}, {0, 0}};
  EXPECT_THAT(align_words(words, encoding).places, ElementsAre(1, 3));
  encoding.offsets = {{0, 0}, {0, 0}, {0, 1}, {2, 2}, {2, 4}, {0, 0}};
  EXPECT_THAT(align_words(words, encoding).places, ElementsAre(1, 3));
}

}  // namespace
}  // namespace tape::text
