#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record_reader.h"

namespace tape::text {

/// A text for language modeling, or a prompt with its completion.
struct Document {
  std::string prompt;  ///< excluded from the loss; "" for a plain text
  std::string text;
  int64_t line = 0;  ///< line where its record begins, from 1
};

/// Names of the record fields.
struct DocumentFields {
  std::string text = "text";
  std::string prompt = "prompt", completion = "completion";
};

/// Documents [begin, end) of a file of records, counting skipped ones.
struct DocumentRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

/// Reads documents one by one from a file of records: `{"text": ...}` or `{"prompt": ..., "completion": ...}`; the
/// first record decides which. Errors as for RecordReader. A document with a blank text is skipped and counted.
class DocumentReader {
 public:
  DocumentReader(const std::string& file, RecordFormat format, DocumentFields fields = {}, DocumentRange range = {});

  const std::string& file() const { return records_->file(); }
  /// Returns nullopt after the last document.
  std::optional<Document> next();
  /// Number of documents read so far, including skipped ones.
  int64_t read() const { return read_; }
  /// Whether documents have prompts; valid after the first one.
  bool has_prompts() const { return has_prompts_; }
  /// Notes on a file that was read to its end, see corpus.h.
  std::vector<std::string> notes() const;

 private:
  std::unique_ptr<RecordReader> records_;
  const DocumentFields fields_;
  const DocumentRange range_;
  int64_t read_ = 0, skipped_ = 0;
  bool has_prompts_ = false;
};

/// Counts for a file of documents.
struct DocumentCount {
  int64_t documents = 0;  ///< including skipped ones
  bool prompts = false;
};
/// Counts a whole file and appends its notes. Throws Error (config) for a file without any text.
DocumentCount count_documents(const std::string& file, RecordFormat format, const DocumentFields& fields,
                              std::vector<std::string>& notes);

}  // namespace tape::text
