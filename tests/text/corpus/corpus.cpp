#include "text/corpus/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/corpus/labeled.h"

namespace tape::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::string_literals;

class Corpus : public TokenizerFolder {};

TEST_F(Corpus, SplitsLinesAtLineFeeds) {
  write("a", "one\n\ntwo\rthree\u2028\nlast");
  const Lines lines = read_lines(path("a"));
  EXPECT_THAT(lines.lines, ElementsAre("one", "", "two\rthree\u2028", "last"));
  EXPECT_EQ(lines.file, path("a"));
  EXPECT_THAT(lines.notes, IsEmpty());
  write("b", "one\n");
  EXPECT_THAT(read_lines(path("b")).lines, ElementsAre("one"));
  write("c", "");
  EXPECT_THAT(read_lines(path("c")).lines, IsEmpty());
}

TEST_F(Corpus, ReportsRemovedAndUnusualCharacters) {
  write("a", "\xEF\xBB\xBFone\r\ntwo\nth\0ree\r\nfo\0ur"s);
  const Lines lines = read_lines(path("a"));
  EXPECT_THAT(lines.lines, ElementsAre("one", "two", "th\0ree"s, "fo\0ur"s));
  EXPECT_TRUE(lines.byte_order_mark);
  EXPECT_EQ(lines.crlf_lines, 2);
  EXPECT_EQ(lines.nul_lines, 2);
  EXPECT_THAT(lines.notes,
              ElementsAre(fmt::format("{}: byte order mark removed", path("a")),
                          fmt::format("{}: carriage returns removed from 2 of 4 lines", path("a")),
                          fmt::format("{}: NUL characters kept in 2 lines, the first in line 3", path("a"))));
  // Elsewhere, byte order marks, and carriage returns without a line feed, are kept.
  write("b", "x\xEF\xBB\xBF\r");
  EXPECT_THAT(read_lines(path("b")).lines, ElementsAre("x\xEF\xBB\xBF\r"));
  write("c", "\xEF\xBB\xBF");
  EXPECT_THAT(read_lines(path("c")).lines, IsEmpty());
}

TEST_F(Corpus, NamesLineAndByteOfInvalidUtf8) {
  write("a", "\xEF\xBB\xBFone\r\nt\u00e4\xC3o\n");
  EXPECT_TAPE_ERROR(read_lines(path("a")), ErrorKind::format,
                    fmt::format("{}: line 2, byte 4: 0xC3 is not valid UTF-8 (byte 12 of the file)", path("a")));
  write("b", "a\xED\xA0\x80");
  EXPECT_TAPE_ERROR(read_lines(path("b")), ErrorKind::format,
                    fmt::format("{}: line 1, byte 2: 0xED is not valid UTF-8 (byte 2 of the file)", path("b")));
  write("c", "\xFF\xFEo\0n\0"s);
  EXPECT_TAPE_ERROR(read_lines(path("c")), ErrorKind::format,
                    fmt::format("{}: line 1, byte 1: the text is UTF-16, expected UTF-8", path("c")));
}

TEST_F(Corpus, DetectsUtf16WithoutAByteOrderMark) {
  const auto utf16 = [](const std::u16string& text, bool little) {
    std::string out;
    for (const char16_t unit : text) {
      const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xFF);
      out += little ? std::string{low, high} : std::string{high, low};
    }
    return out;
  };
  const std::u16string russian =
      u"\u0420\u0430\u0437 \u0434\u0432\u0430 \u0442\u0440\u0438\n\u0420\u0430\u0437 \u0434\u0432\u0430 "
      u"\u0442\u0440\u0438\n\u0420\u0430\u0437 \u0434\u0432\u0430 \u0442\u0440\u0438\n";
  for (const std::u16string& text : {std::u16string(u"one two\nthree\n"), russian})
    for (const bool little : {true, false}) {
      write("a", utf16(text, little));
      const std::string sentence =
          fmt::format("{}: the text is UTF-16 (every other byte is NUL), expected UTF-8", path("a"));
      EXPECT_TAPE_ERROR(read_lines(path("a")), ErrorKind::format, sentence);
    }
  // Scattered NUL characters are kept.
  write("b", "a\0\0b\0\0\0\0c\0\0\0"s);
  EXPECT_EQ(read_lines(path("b")).nul_lines, 1);
  std::string rare(3000, 'x');
  for (size_t i = 0; i < 3000; i += 100) rare[i] = '\0';
  write("b", rare);
  EXPECT_EQ(read_lines(path("b")).nul_lines, 1);
}

TEST_F(Corpus, NamesFilesThatCannotBeRead) {
  EXPECT_TAPE_ERROR(read_lines(path("none")), ErrorKind::io,
                    fmt::format("{}: cannot open: No such file or directory", path("none")));
  EXPECT_TAPE_ERROR(read_lines(folder_.path()), ErrorKind::io,
                    fmt::format("{}: cannot read: Is a directory", folder_.path()));
}

TEST_F(Corpus, ReadsPairsFromTwoFiles) {
  write("de", "eins\n\n \u00a0\t\nvier\nf\u00fcnf\nsechs\n");
  write("en", "one\r\ntwo\r\n\r\nfour\r\n\r\nsix\r\n");
  const ParallelCorpus corpus = read_parallel(path("de"), path("en"));
  EXPECT_THAT(corpus.source, ElementsAre("eins", "vier", "sechs"));
  EXPECT_THAT(corpus.target, ElementsAre("one", "four", "six"));
  EXPECT_THAT(corpus.line, ElementsAre(1, 4, 6));
  EXPECT_EQ(corpus.size(), 3);
  EXPECT_EQ(corpus.pairs, 6);
  EXPECT_EQ(corpus.empty_source, 1);
  EXPECT_EQ(corpus.empty_target, 1);
  EXPECT_EQ(corpus.empty_both, 1);
  EXPECT_THAT(
      corpus.notes,
      ElementsAre(fmt::format("{}: carriage returns removed from 6 of 6 lines", path("en")),
                  fmt::format("{}: 3 of 6 pairs skipped: empty source 1, empty target 1, both empty 1", path("de"))));
}

TEST_F(Corpus, GroupsThousandsInCounts) {
  std::string de, en;
  for (int i = 0; i < 2000; ++i) de += i == 7 ? "\n" : "ja\n", en += "yes\n";
  write("de", de);
  write("en", en);
  EXPECT_THAT(read_parallel(path("de"), path("en")).notes,
              ElementsAre(fmt::format("{}: 1 of 2,000 pairs skipped: empty source 1", path("de"))));
}

TEST_F(Corpus, RefusesFilesWithUnequalNumbersOfLines) {
  write("de", "eins\nzwei\n");
  write("en", "one\ntwo\nthree");
  write("empty", "");
  write("blank", "\n \n");
  EXPECT_TAPE_ERROR(read_parallel(path("de"), path("en")), ErrorKind::format,
                    fmt::format("{} has 2 lines, {} has 3: both need one line per pair", path("de"), path("en")));
  EXPECT_TAPE_ERROR(read_parallel(path("empty"), path("empty")), ErrorKind::config,
                    fmt::format("{}: the file is empty", path("empty")));
  EXPECT_TAPE_ERROR(read_parallel(path("blank"), path("de")), ErrorKind::config,
                    fmt::format("{}: every pair has an empty side", path("blank")));
}

TEST_F(Corpus, ReadsPairsFromATsvFile) {
  write("a", "eins\tone\n\t\nzwei\t\n\ndrei\tthree");
  const ParallelCorpus corpus = read_parallel_tsv(path("a"));
  EXPECT_THAT(corpus.source, ElementsAre("eins", "drei"));
  EXPECT_THAT(corpus.target, ElementsAre("one", "three"));
  EXPECT_THAT(corpus.line, ElementsAre(1, 5));
  EXPECT_THAT(corpus.notes,
              ElementsAre(fmt::format("{}: 3 of 5 pairs skipped: empty target 1, both empty 2", path("a"))));
  write("b", "eins\tone\nzwei\ttwo\tmore\n");
  EXPECT_TAPE_ERROR(read_parallel_tsv(path("b")), ErrorKind::format,
                    fmt::format("{}: line 2: 3 fields, expected 2: source TAB target", path("b")));
  write("c", "eins\n");
  EXPECT_TAPE_ERROR(read_parallel_tsv(path("c")), ErrorKind::format,
                    fmt::format("{}: line 1: 1 field, expected 2: source TAB target", path("c")));
  write("d", "");
  EXPECT_TAPE_ERROR(read_parallel_tsv(path("d")), ErrorKind::config, fmt::format("{}: the file is empty", path("d")));
}

TEST_F(Corpus, ReadsSentencesWithLabels) {
  write("a", "a fine film\tpos\n \tpos\ndull , dull\tneg \n\nso so\tmixed\nfine\tpos");
  const LabeledCorpus corpus = read_labeled(path("a"));
  EXPECT_THAT(corpus.sentences, ElementsAre("a fine film", "dull , dull", "so so", "fine"));
  EXPECT_THAT(corpus.label_names, ElementsAre("mixed", "neg", "pos"));
  EXPECT_THAT(corpus.labels, ElementsAre(2, 1, 0, 2));
  EXPECT_THAT(corpus.line, ElementsAre(1, 3, 5, 6));
  EXPECT_EQ(corpus.size(), 4);
  EXPECT_EQ(corpus.empty_sentences, 2);
  EXPECT_THAT(corpus.notes, ElementsAre(fmt::format("{}: 2 of 6 lines skipped: empty sentence", path("a"))));
}

TEST_F(Corpus, ReadsLabelsBeforeSentences) {
  write("a", "10 How far is it ?\n9  Who is he ?\n10 Why\tnot ?\n");
  const LabeledCorpus corpus = read_labeled(path("a"), LabelFormat::label_space_sentence);
  EXPECT_THAT(corpus.sentences, ElementsAre("How far is it ?", "Who is he ?", "Why\tnot ?"));
  EXPECT_THAT(corpus.label_names, ElementsAre("9", "10"));
  EXPECT_THAT(corpus.labels, ElementsAre(1, 0, 1));
  // Sorted by bytes if any label is not a number.
  write("b", "10 a\n9 b\nx c\n");
  EXPECT_THAT(read_labeled(path("b"), LabelFormat::label_space_sentence).label_names, ElementsAre("10", "9", "x"));
}

TEST_F(Corpus, SkipsAHeader) {
  write("a", "sentence\tlabel\nfine\t1\ndull\t0\n");
  const LabeledCorpus corpus = read_labeled(path("a"));
  EXPECT_THAT(corpus.sentences, ElementsAre("fine", "dull"));
  EXPECT_THAT(corpus.line, ElementsAre(2, 3));
  EXPECT_THAT(corpus.notes, ElementsAre(fmt::format("{}: line 1 is a header and was skipped", path("a"))));
}

TEST_F(Corpus, UsesTheTrainingLabelsForValidation) {
  const std::vector<std::string> names{"neg", "pos"};
  write("a", "fine\tpos\n");
  const LabeledCorpus corpus = read_labeled(path("a"), LabelFormat::sentence_tab_label, names);
  EXPECT_THAT(corpus.labels, ElementsAre(1));
  EXPECT_EQ(corpus.label_names, names);
  write("b", "fine\tpos\n\nwell\tmixed\n");
  EXPECT_TAPE_ERROR(read_labeled(path("b"), LabelFormat::sentence_tab_label, names), ErrorKind::format,
                    fmt::format("{}: line 3: unknown label \"mixed\"; known labels: neg, pos", path("b")));
}

TEST_F(Corpus, NamesLinesWithoutALabel) {
  const auto expect = [&](const std::string& content, LabelFormat format, ErrorKind kind, const std::string& message) {
    write("a", content);
    EXPECT_TAPE_ERROR(read_labeled(path("a"), format), kind, fmt::format("{}: {}", path("a"), message));
  };
  const auto tab = LabelFormat::sentence_tab_label, space = LabelFormat::label_space_sentence;
  expect("x\t1\nfine\n", tab, ErrorKind::format, "line 2: 1 field, expected 2: sentence TAB label");
  expect("NUM:count How many?\n", tab, ErrorKind::format,
         "line 1: 1 field, expected 2: sentence TAB label; for lines of label SPACE sentence use the format "
         "label-first");
  expect("x\t1\t2\n", tab, ErrorKind::format, "line 1: 3 fields, expected 2: sentence TAB label");
  expect("x\t \n", tab, ErrorKind::format, "line 1: the label is empty");
  expect("1 x\n2\n", space, ErrorKind::format, "line 2: no space between label and sentence");
  expect("", tab, ErrorKind::config, "the file has no examples");
  expect("sentence\tlabel\n", tab, ErrorKind::config, "the file has no examples");
  expect(" \t1\n", tab, ErrorKind::config, "every sentence is empty");
}

TEST_F(Corpus, ReadsPairsFromRecords) {
  write("a.jsonl", R"({"translation": {"de": "eins", "en": "one"}}
{"translation": {"de": " ", "en": "two"}}

{"translation": {"de": "drei", "en": "three"}, "id": 3}
)");
  const PairFields fields{.source = "translation.de", .target = "translation.en"};
  const ParallelCorpus corpus = read_parallel_records(path("a.jsonl"), RecordFormat::jsonl, fields);
  EXPECT_THAT(corpus.source, ElementsAre("eins", "drei"));
  EXPECT_THAT(corpus.target, ElementsAre("one", "three"));
  EXPECT_THAT(corpus.line, ElementsAre(1, 4));
  EXPECT_THAT(corpus.notes, ElementsAre(fmt::format("{}: 1 empty line skipped", path("a.jsonl")),
                                        fmt::format("{}: 1 of 3 pairs skipped: empty source 1", path("a.jsonl"))));
  EXPECT_TAPE_ERROR(read_parallel_records(path("a.jsonl"), RecordFormat::jsonl), ErrorKind::format,
                    fmt::format("{}: line 1: no field \"source\"; available fields: translation", path("a.jsonl")));
}

TEST_F(Corpus, ReadsLabelsFromRecords) {
  write("a.csv", "text,label\r\n\"fine, really\",1\r\nbad,0\r\n,1\r\n");
  const LabeledCorpus corpus = read_labeled_records(path("a.csv"), RecordFormat::csv);
  EXPECT_THAT(corpus.sentences, ElementsAre("fine, really", "bad"));
  EXPECT_THAT(corpus.label_names, ElementsAre("0", "1"));
  EXPECT_THAT(corpus.labels, ElementsAre(1, 0));
  EXPECT_THAT(corpus.line, ElementsAre(2, 3));
  EXPECT_EQ(corpus.empty_sentences, 1);
  write("b.jsonl", "{\"s\": \"ja\", \"l\": true}\n{\"s\": \"nein\", \"l\": false}\n");
  const LabeledFields fields{.text = "s", .label = "l"};
  EXPECT_THAT(read_labeled_records(path("b.jsonl"), RecordFormat::jsonl, fields).label_names,
              ElementsAre("false", "true"));
  const std::vector<std::string> known{"true"};
  EXPECT_TAPE_ERROR(read_labeled_records(path("b.jsonl"), RecordFormat::jsonl, fields, known), ErrorKind::format,
                    fmt::format("{}: line 2: unknown label \"false\"; known labels: true", path("b.jsonl")));
  EXPECT_TAPE_ERROR(read_labeled_records(path("a.csv"), RecordFormat::csv, fields), ErrorKind::format,
                    fmt::format("{}: line 2: no field \"s\"; available fields: text, label", path("a.csv")));
}

}  // namespace
}  // namespace tape::text
