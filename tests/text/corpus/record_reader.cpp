#include "text/corpus/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/error.h"
#include "tests/support/errors.h"
#include "tests/support/growth.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"

namespace tape::text {
namespace {

using testing::ElementsAre;

class Records : public TokenizerFolder {
 protected:
  /// One field of all records.
  std::vector<std::string> texts(RecordFormat format, const std::string& content, const std::string& field) const {
    write("a", content);
    const auto records = RecordReader::open(path("a"), format);
    std::vector<std::string> all;
    while (records->next()) all.push_back(records->text(field));
    return all;
  }
  void expect_refused(RecordFormat format, const std::string& content, const std::string& message) const {
    EXPECT_TAPE_ERROR(texts(format, content, "text"), ErrorKind::format, fmt::format("{}: {}", path("a"), message));
  }
};

TEST_F(Records, HaveAFormatByFileExtension) {
  EXPECT_EQ(record_format_of("a/b.jsonl"), RecordFormat::jsonl);
  EXPECT_EQ(record_format_of("b.ndjson"), RecordFormat::jsonl);
  EXPECT_EQ(record_format_of("b.csv"), RecordFormat::csv);
  EXPECT_EQ(record_format_of("b.tsv"), RecordFormat::tsv);
  EXPECT_EQ(record_format_of("csv"), std::nullopt);
  EXPECT_EQ(record_format_of("b.txt"), std::nullopt);
  EXPECT_STREQ(to_string(RecordFormat::jsonl), "jsonl");
}

TEST_F(Records, FollowRfc4180InATable) {
  const std::string table =
      "id,text\r\n1,plain\r\n2,\"a, b\"\r\n\"3\",\"says \"\"no\"\"\"\r\n4,\"two\r\nlines\"\r\n5,\r\n6,\"\"\r\n7, b ";
  EXPECT_THAT(texts(RecordFormat::csv, table, "text"),
              ElementsAre("plain", "a, b", "says \"no\"", "two\nlines", "", "", " b "));
  EXPECT_THAT(texts(RecordFormat::csv, table, "id"), ElementsAre("1", "2", "3", "4", "5", "6", "7"));
  EXPECT_THAT(texts(RecordFormat::tsv, "text\tid\n\"a\tb\"\t1\n\nc,d\t2\n", "text"), ElementsAre("a\tb", "c,d"));
  EXPECT_THAT(texts(RecordFormat::csv, "", "text"), ElementsAre());
  EXPECT_THAT(texts(RecordFormat::csv, "text\n", "text"), ElementsAre());
}

TEST_F(Records, OpenATableWithManyColumnsInAlmostLinearTime) {
  const auto file_of = [this](size_t columns) {
    std::string header;
    for (size_t i = 0; i < columns; ++i) header += fmt::format("{}c{}", i == 0 ? "" : ",", i);
    return write_text(folder_ / fmt::format("{}.csv", columns), header + "\n");
  };
  const std::string small = file_of(10'000), large = file_of(40'000);
  expect_almost_linear(
      10'000, [&](size_t columns) { RecordReader::open(columns == 10'000 ? small : large, RecordFormat::csv); });
  try {
    const auto reader = RecordReader::open(large, RecordFormat::csv);
    reader->text("none");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(
        std::string(error.what())
            .ends_with("no field \"none\"; available fields: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, and 39990 more"))
        << error.what();
  }
}

TEST_F(Records, NameTheLineOfABrokenTable) {
  const auto csv = RecordFormat::csv;
  expect_refused(csv, "text,id\na,1\nb\n", "line 3: 1 field, but the header has 2");
  expect_refused(csv, "text\na,b\n", "line 2: 2 fields, but the header has 1");
  expect_refused(csv, "text,text\n", "line 1: duplicate column \"text\"");
  expect_refused(csv, "id,text\n1,\"a\n2,b\n", "line 2: field \"text\" has an opening quote that is never closed");
  expect_refused(csv, "id,text\n1,\"a\"b\n", "line 2: field \"text\" has text after the closing quote");
  expect_refused(csv, "id,text\n1,a \"b\"\n",
                 "line 2: field \"text\" contains a quote; quote the whole field and double each quote inside");
  expect_refused(csv, "\"id\n", "line 1: field 1 has an opening quote that is never closed");
  expect_refused(csv, "id,body\n1,a\n", "line 2: no field \"text\"; available fields: id, body");
}

TEST_F(Records, HaveTheFieldsOfJsonLines) {
  write(
      "a",
      "{\"text\": \"a\\nb\", \"n\": 3, \"ok\": true, \"tags\": [\"B\", 7], \"in\": {\"de\": \"ja\"}, \"x.y\": \"z\"}\n"
      " \n{\"text\": \"\\u00e4\"}");
  const auto records = RecordReader::open(path("a"), RecordFormat::jsonl);
  ASSERT_TRUE(records->next());
  EXPECT_EQ(records->line(), 1);
  EXPECT_EQ(records->text("text"), "a\nb");
  EXPECT_EQ(records->name("n"), "3");
  EXPECT_EQ(records->name("ok"), "true");
  EXPECT_EQ(records->text("in.de"), "ja");
  EXPECT_EQ(records->text("x.y"), "z");
  EXPECT_THAT(records->names("tags"), ElementsAre("B", "7"));
  EXPECT_TRUE(records->has("in.de"));
  EXPECT_FALSE(records->has("in.en"));
  EXPECT_FALSE(records->has("text.en"));
  ASSERT_TRUE(records->next());
  EXPECT_EQ(records->line(), 3);
  EXPECT_EQ(records->text("text"), "\u00e4");
  EXPECT_FALSE(records->next());
  EXPECT_THAT(records->notes(), ElementsAre(fmt::format("{}: 1 empty line skipped", path("a"))));
}

TEST_F(Records, NameTheLineOfBrokenJson) {
  const auto jsonl = RecordFormat::jsonl;
  expect_refused(jsonl, "{\"text\": \"a\"}\n{\"text\": }\n",
                 "line 2: parse error at column 10: syntax error while parsing value - unexpected '}'; expected "
                 "'[', '{', or a literal");
  expect_refused(jsonl, "[1]\n", "line 1: not a JSON object");
  expect_refused(jsonl, "{\"text\": \"a\", \"text\": \"b\"}\n", "line 1: duplicate key \"text\"");
  expect_refused(jsonl, "\n{\"body\": \"a\", \"id\": 1}\n", "line 2: no field \"text\"; available fields: body, id");
  expect_refused(jsonl, "{}\n", "line 1: no field \"text\"; available fields: none");
  expect_refused(jsonl, "{\"text\": 3}\n", "line 1: field \"text\" must be a string, got a number");
  expect_refused(jsonl, "{\"text\": [\"a\"]}\n", "line 1: field \"text\" must be a string, got an array");
  expect_refused(jsonl, "{\"text\": null}\n", "line 1: field \"text\" must be a string, got a null");
  write("a", "{\"l\": 1.5, \"e\": \" \", \"t\": \"x\", \"d\": [[]]}\n");
  const auto records = RecordReader::open(path("a"), jsonl);
  ASSERT_TRUE(records->next());
  const auto sentence = [this](const std::string& what) {
    return fmt::format("{}: line 1: field {}", path("a"), what);
  };
  EXPECT_TAPE_ERROR(records->name("l"), ErrorKind::format,
                    sentence("\"l\" must be a string, an integer or a Boolean, got a number"));
  EXPECT_TAPE_ERROR(records->name("e"), ErrorKind::format, sentence("\"e\" is empty"));
  EXPECT_TAPE_ERROR(records->names("t"), ErrorKind::format, sentence("\"t\" must be an array, got a string"));
  EXPECT_TAPE_ERROR(records->names("d"), ErrorKind::format,
                    sentence("\"d\" must be a string, an integer or a Boolean, got an array"));
}

TEST_F(Records, SplitNamesOfATableAtSpaces) {
  write("a", "words,tag\nEU  rejects\tit, B \n");
  const auto records = RecordReader::open(path("a"), RecordFormat::csv);
  ASSERT_TRUE(records->next());
  EXPECT_THAT(records->names("words"), ElementsAre("EU", "rejects", "it"));
  EXPECT_EQ(records->name("tag"), "B");
}

TEST_F(Records, AreRefusedAbove64MiB) {
  const std::string long_line(size_t{65} << 20, 'x');
  expect_refused(RecordFormat::jsonl, long_line, "line 1: the record that begins here is larger than 64.0 MiB");
  std::string open = "text\n\"";
  for (int i = 0; i < 66 << 10; ++i) open += std::string(1023, 'x') + '\n';
  expect_refused(RecordFormat::csv, open, "line 2: the record that begins here is larger than 64.0 MiB");
}

}  // namespace
}  // namespace tape::text
