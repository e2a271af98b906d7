#include "train/data/text_source.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "base/error.h"

namespace tape::train {
namespace {

/// Number of units by which a file is split.
struct Count {
  int64_t all = 0;
  bool prompts = false;
};

Count count(const TextSource& text, std::vector<std::string>& notes) {
  if (text.is_tokens()) return {};
  if (!text.has_documents()) return {.all = text::count_characters(text.file, notes)};
  const text::DocumentCount found = text::count_documents(text.file, *records_of(text.format), text.fields, notes);
  return {.all = found.documents, .prompts = found.prompts};
}

/// Reads documents, returning the prompt of each before its text.
text::NextPiece pieces_of_documents(const TextSource& from) {
  struct State {
    text::DocumentReader reader;
    std::optional<text::Document> document = {};
    bool prompt_given = false;
  };
  auto state = std::make_shared<State>(text::DocumentReader(from.file, *records_of(from.format), from.fields,
                                                            text::DocumentRange{.begin = from.begin, .end = from.end}));
  return [state]() -> std::optional<std::string_view> {
    if (state->document && !std::exchange(state->prompt_given, true)) return state->document->text;
    state->document = state->reader.next();
    if (!state->document) return std::nullopt;
    state->prompt_given = state->document->prompt.empty();
    return state->prompt_given ? state->document->text : state->document->prompt;
  };
}

/// Determines where the texts are split and whether they have prompts.
void read_through(const TextSourceOptions& o, TextSources& texts) {
  const Count train = count(texts.train, texts.notes);
  texts.prompts = train.prompts;
  if (!o.valid.empty()) {
    const Count valid = count(texts.valid, texts.notes);
    if (texts.train.is_tokens() != texts.valid.is_tokens() || train.prompts != valid.prompts)
      raise(ErrorKind::config, "{} contains {}, but {} contains {}: both must have the same kind", o.text,
            train.prompts ? "prompts with completions" : to_string(texts.train.format), o.valid,
            valid.prompts ? "prompts with completions" : to_string(texts.valid.format));
  } else if (!texts.train.is_tokens()) {
    const char* const what = texts.train.has_documents() ? "document" : "character";
    texts.train.end = texts.valid.begin = text::training_split_size(train.all, o.valid_fraction, o.text, what);
  }
}

}  // namespace

TextFormat text_format_of(const std::string& file) {
  if (std::filesystem::path(file).extension() == ".bin") return TextFormat::tokens;
  const std::optional<text::RecordFormat> records = text::record_format_of(file);
  if (!records) return TextFormat::text;
  return *records == text::RecordFormat::jsonl ? TextFormat::jsonl
         : *records == text::RecordFormat::csv ? TextFormat::csv
                                               : TextFormat::tsv;
}

std::optional<text::RecordFormat> records_of(TextFormat format) {
  switch (format) {
    case TextFormat::jsonl:
      return text::RecordFormat::jsonl;
    case TextFormat::csv:
      return text::RecordFormat::csv;
    case TextFormat::tsv:
      return text::RecordFormat::tsv;
    default:
      return std::nullopt;
  }
}

const char* to_string(TextFormat format) {
  if (const auto records = records_of(format)) return text::to_string(*records);
  return format == TextFormat::text ? "text" : "tokens";
}

text::NextPiece TextSource::pieces() const {
  TAPE_ASSERT(!is_tokens());
  if (has_documents()) return pieces_of_documents(*this);
  auto reader = std::make_shared<text::TextReader>(file, text::CharacterRange{.begin = begin, .end = end});
  return [reader] { return reader->next(); };
}

TextSources find_texts(const TextSourceOptions& o, Communicator& ranks) {
  const auto source = [&o](const std::string& file) {
    return TextSource{.file = file, .format = o.format.value_or(text_format_of(file)), .fields = o.fields};
  };
  TextSources texts{.train = source(o.text), .valid = source(o.valid.empty() ? o.text : o.valid)};
  if (ranks.is_root()) read_through(o, texts);
  struct Found {
    int64_t train_end, valid_begin;
    bool prompts;
  } found{texts.train.end, texts.valid.begin, texts.prompts};
  ranks.broadcast(&found, sizeof found);
  texts.train.end = found.train_end;
  texts.valid.begin = found.valid_begin;
  texts.prompts = found.prompts;
  return texts;
}

}  // namespace tape::train
