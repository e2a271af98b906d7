#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "../../text/corpus/documents.h"
#include "../../text/corpus/text_reader.h"
#include "../distributed/communicator.h"

namespace tape::train {

/// Format of a language model's training file.
enum class TextFormat {
  text,    ///< one continuous text
  tokens,  ///< token ids only (text/token_file.h), as nanoGPT's prepare.py writes them
  jsonl,   ///< documents: records with a text, or with a prompt and its completion (text/documents.h)
  csv,
  tsv
};

/// Format by file extension: .bin has tokens, .jsonl, .ndjson, .csv and .tsv have documents, others plain text.
TextFormat text_format_of(const std::string& file);
/// The record format; nullopt for text and tokens.
std::optional<text::RecordFormat> records_of(TextFormat format);
/// "text", "tokens", "jsonl", ...
const char* to_string(TextFormat format);

/// A file, or a range of it.
struct TextSource {
  std::string file;
  TextFormat format = TextFormat::text;
  text::DocumentFields fields = {};
  /// Range in characters, in documents (including skipped ones) or in tokens, depending on the format.
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();

  bool is_tokens() const { return format == TextFormat::tokens; }
  bool has_documents() const { return records_of(format).has_value(); }
  /// The text in pieces; for documents, each prompt and each text is a piece. Not for tokens.
  text::NextPiece pieces() const;
};

/// Training and validation texts.
struct TextSources {
  TextSource train, valid;
  bool prompts = false;  ///< whether only completions are learned
  std::vector<std::string> notes = {};
};

/// How the texts are selected.
struct TextSourceOptions {
  std::string text, valid = {};           ///< files; without `valid`, the end of `text` is used for validation
  double valid_fraction = 0.1;            ///< fraction of `text` used for validation
  std::optional<TextFormat> format = {};  ///< of both; default: by file extension
  text::DocumentFields fields = {};
};

/// Reads both files once to determine where the first is split; token files, whose size is known, are not read. Only
/// rank 0 reads and broadcasts the result. Throws Error (config) for a fraction that leaves one part empty, or if only
/// one file has prompts or tokens; (format) and (io) as their readers.
TextSources find_texts(const TextSourceOptions& options, Communicator& ranks);

}  // namespace tape::train
