#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record_reader.h"

namespace tape::text {

/// A text that a language model learns, or what it is to say after a prompt.
struct Document {
  std::string prompt;  ///< read, not learned; "" for a text alone
  std::string text;
  int64_t line = 0;  ///< where its record begins, from 1
};

/// Which fields of a record those are.
struct DocumentFields {
  std::string text = "text";
  std::string prompt = "prompt", completion = "completion";
};

/// Documents [begin, end) of a file of records, by their number; those that are skipped count.
struct DocumentRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

/// The documents of a file of records, one by one: `{"text": ...}`, or `{"prompt": ..., "completion": ...}`, which the
/// first record decides. Errors as RecordReader's. A document whose text has nothing but white space is skipped and
/// counted.
class DocumentReader {
 public:
  DocumentReader(const std::string& file, RecordFormat format, DocumentFields fields = {}, DocumentRange range = {});

  const std::string& file() const { return records_->file(); }
  /// Nothing behind the last one.
  std::optional<Document> next();
  /// Documents so far, those that were skipped among them.
  int64_t read() const { return read_; }
  /// Whether they have prompts; known from the first one on.
  bool has_prompts() const { return has_prompts_; }
  /// What is told of a file that was read to its end: see corpus.h.
  std::vector<std::string> notes() const;

 private:
  std::unique_ptr<RecordReader> records_;
  const DocumentFields fields_;
  const DocumentRange range_;
  int64_t read_ = 0, skipped_ = 0;
  bool has_prompts_ = false;
};

/// What a file of documents has.
struct DocumentCount {
  int64_t documents = 0;  ///< those that are skipped among them
  bool prompts = false;
};
/// Reads all of it; its notes are appended. Error (config) for a file without any text.
DocumentCount count_documents(const std::string& file, RecordFormat format, const DocumentFields& fields,
                              std::vector<std::string>& notes);

}  // namespace tape::text
