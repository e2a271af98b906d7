#include "text/corpus/record_reader.h"

#include "base/utf8.h"
#include "tests/fuzz/target.h"
#include "text/corpus/corpus.h"
#include "text/corpus/labeled.h"

namespace tape::fuzz {
namespace {

/// Reads every record of a file and returns their number.
int64_t read_all(const std::string& path, text::RecordFormat format) {
  const auto records = text::RecordReader::open(path, format);
  int64_t count = 0, line = 0;
  while (records->next()) {
    ++count;
    expect(records->line() > line, "line {} after line {}", records->line(), line);
    line = records->line();
    if (records->has("text")) accepted([&] { expect(valid_utf8(records->text("text")), "an invalid text"); });
    accepted([&] { expect(!records->name("label").empty(), "an empty name"); });
    accepted([&] {
      for (const std::string& name : records->names("in.names")) expect(!name.empty(), "an empty name");
    });
  }
  return count;
}

}  // namespace

/// A file of records in each format, also read as pairs and as labeled texts.
void fuzz_records(Bytes bytes) {
  const std::string path = put_file(empty_folder() + "/records", text_of(bytes));
  for (const auto format : {text::RecordFormat::jsonl, text::RecordFormat::csv, text::RecordFormat::tsv}) {
    const auto count = accepted([&] { return read_all(path, format); });
    const auto labeled = accepted([&] { return text::read_labeled_records(path, format); });
    if (labeled)
      expect(count && labeled->size() + labeled->empty_sentences == *count, "a record is neither read nor counted");
    const auto pairs = accepted([&] { return text::read_parallel_records(path, format); });
    if (pairs) expect(count && pairs->pairs == *count, "{} pairs of {} records", pairs->pairs, count.value_or(0));
  }
}

}  // namespace tape::fuzz
