#include "text/corpus/documents.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"
#include "text/corpus/corpus_file.h"

namespace tape::text {

DocumentReader::DocumentReader(const std::string& file, RecordFormat format, DocumentFields fields, DocumentRange range)
    : records_(RecordReader::open(file, format)), fields_(std::move(fields)), range_(range) {}

std::optional<Document> DocumentReader::next() {
  while (read_ < range_.end && records_->next()) {
    if (read_ == 0)
      has_prompts_ = !records_->has(fields_.text) && records_->has(fields_.prompt) && records_->has(fields_.completion);
    if (read_++ < range_.begin) continue;
    Document document{.prompt = has_prompts_ ? records_->text(fields_.prompt) : "",
                      .text = records_->text(has_prompts_ ? fields_.completion : fields_.text),
                      .line = records_->line()};
    if (!is_empty(document.text)) return document;
    ++skipped_;
  }
  return std::nullopt;
}

std::vector<std::string> DocumentReader::notes() const {
  std::vector<std::string> notes = records_->notes();
  if (skipped_ > 0)
    notes.push_back(fmt::format("{}: {} of {} skipped: empty {}", file(), grouped(skipped_), counted(read_, "document"),
                                has_prompts_ ? fields_.completion : fields_.text));
  return notes;
}

DocumentCount count_documents(const std::string& file, RecordFormat format, const DocumentFields& fields,
                              std::vector<std::string>& notes) {
  DocumentReader reader(file, format, fields);
  int64_t taken = 0;
  while (reader.next()) ++taken;
  std::vector<std::string> said = reader.notes();
  if (taken == 0)
    raise(ErrorKind::config, "{}: {}", file, reader.read() == 0 ? "the file has no documents" : "every text is empty");
  notes.insert(notes.end(), said.begin(), said.end());
  return {.documents = reader.read(), .prompts = reader.has_prompts()};
}

}  // namespace tape::text
