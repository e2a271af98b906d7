#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "../../text/documents.h"
#include "../../text/text_reader.h"
#include "../distributed/communicator.h"

namespace tape::train {

/// What a file that a language model learns from holds.
enum class TextFormat {
  text,    ///< one text that goes on and on
  tokens,  ///< ids and nothing else (text/token_file.h), as nanoGPT's prepare.py writes them
  jsonl,   ///< documents: records with a text, or with a prompt and its completion (text/documents.h)
  csv,
  tsv
};

/// By the end of the file's name: .bin holds tokens, .jsonl, .ndjson, .csv and .tsv documents, others a text.
TextFormat text_format_of(const std::string& file);
/// The same as a format of records; nothing for texts and tokens.
std::optional<text::RecordFormat> records_of(TextFormat format);
/// "text", "tokens", "jsonl", ...
const char* to_string(TextFormat format);

/// A file, or a stretch of it.
struct LearnedText {
  std::string file;
  TextFormat format = TextFormat::text;
  text::DocumentFields fields = {};
  /// Of its characters, its documents with those that are skipped, or its tokens.
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();

  bool is_tokens() const { return format == TextFormat::tokens; }
  bool has_documents() const { return records_of(format).has_value(); }
  /// The text piece by piece, a document or its prompt each. Not of tokens.
  text::NextPiece pieces() const;
};

/// What is learned from, and what validates.
struct LearnedTexts {
  LearnedText train, valid;
  bool prompts = false;  ///< whether completions alone are learned
  std::vector<std::string> notes = {};
};

/// How they are chosen.
struct LearnedTextOptions {
  std::string text, valid = {};           ///< files; without the second the end of the first validates
  double valid_fraction = 0.1;            ///< how much of it
  std::optional<TextFormat> format = {};  ///< of both; by their names where it is not given
  text::DocumentFields fields = {};
};

/// Reads both once, and says where the first is cut; a file of tokens, whose number is known without, is not read. Of
/// several ranks the first reads, and tells the others. Error (config) for a fraction that leaves one of them empty,
/// and for two of which only one has prompts, or tokens; (format) and (io) as their readers.
LearnedTexts find_texts(const LearnedTextOptions& options, Communicator& ranks);

}  // namespace tape::train
