#include "train/data/token_store.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "autograd/kernels/runtime/common/threads.h"
#include "base/error.h"
#include "text/corpus/overlapping_pieces.h"
#include "text/tokenizers/unknown_tokens.h"

namespace tape::train {
namespace {

/// Collects characters without a token: a tokenizer made for another text need not know those of this one.
class Unknown {
 public:
  explicit Unknown(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    if (const auto* const bpe = dynamic_cast<const text::ByteLevelBpe*>(&tokenizer)) lost_.emplace(*bpe);
  }
  /// Adds a piece, without its overlap with the previous one.
  void add(const text::OverlappingPiece& piece, const text::Encoding& encoding) {
    if (lost_)
      lost_->add(std::string_view(piece.text).substr(piece.lead));
    else
      tokens_.add(tokenizer_, encoding, piece.text);
  }
  std::string note() const { return lost_ ? lost_->note() : tokens_.note(); }

 private:
  const text::Tokenizer& tokenizer_;
  std::optional<text::DroppedCharacters> lost_;
  text::UnknownTokens tokens_;
};

/// Texts that are encoded together: enough to keep every thread busy.
class Group {
 public:
  explicit Group(const text::Tokenizer& tokenizer, bool special) : tokenizer_(tokenizer), special_(special) {}

  void add(text::OverlappingPiece text) {
    bytes_ += text.text.size();
    texts_.push_back(std::move(text));
  }
  bool full() const {
    constexpr size_t kEach = 1 << 19;
    return bytes_ >= kEach * static_cast<size_t>(kernels::num_threads());
  }
  /// Encodes all texts, calls take(text, encoding) for each in order, and clears the group.
  template <class Take>
  void encode(Take&& take) {
    std::vector<text::Encoding> encoded(texts_.size());
    kernels::run_tasks(std::ssize(texts_), [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      encoded[at] = tokenizer_.encode(texts_[at].text, {.add_special_tokens = special_});
    });
    for (size_t i = 0; i < texts_.size(); ++i) take(texts_[i], encoded[i]);
    texts_.clear();
    bytes_ = 0;
  }

 private:
  const text::Tokenizer& tokenizer_;
  const bool special_;
  std::vector<text::OverlappingPiece> texts_;
  size_t bytes_ = 0;
};

/// Number of tokens before a document's text: special tokens at the beginning, and all that end within the prompt.
int64_t prompt_tokens(const text::Encoding& encoding, size_t prompt_bytes) {
  size_t count = 0;
  while (count < encoding.size() &&
         (encoding.special_tokens_mask[count] != 0 || encoding.offsets[count].end <= prompt_bytes))
    ++count;
  return static_cast<int64_t>(count);
}

void write_text(const TextSource& from, const text::Tokenizer& tokenizer, const text::TokenWriter& write,
                Unknown& unknown) {
  text::OverlappingPieces pieces(from.pieces());
  Group group(tokenizer, false);
  std::optional<std::pair<text::OverlappingPiece, text::Encoding>>
      last;  // held back until its overlap with the next piece is known
  const auto give_last = [&] {
    if (!last) return;
    unknown.add(last->first, last->second);
    write(last->second.ids);
  };
  const auto take = [&](text::OverlappingPiece& piece, text::Encoding& encoding) {
    if (last) text::join(last->first, last->second, piece, encoding);
    give_last();
    last.emplace(std::move(piece), std::move(encoding));
  };
  while (auto piece = pieces.next()) {
    group.add(std::move(*piece));
    if (group.full()) group.encode(take);
  }
  group.encode(take);
  give_last();
}

std::vector<StoredDocument> write_documents(const TextSource& from, const text::Tokenizer& tokenizer,
                                            const text::TokenWriter& write, Unknown& unknown) {
  text::DocumentReader reader(from.file, *records_of(from.format), from.fields, {.begin = from.begin, .end = from.end});
  const int64_t end = tokenizer.special().eos;
  std::vector<StoredDocument> documents;
  std::vector<size_t> prompt_bytes;  // of the texts in the group
  size_t at = 0;
  Group group(tokenizer, true);
  const auto take = [&](const text::OverlappingPiece& document, text::Encoding& encoding) {
    unknown.add(document, encoding);
    const int64_t begin = documents.empty() ? 0 : documents.back().end;
    const int64_t read = prompt_tokens(encoding, prompt_bytes[at++]);
    if (end >= 0 && (encoding.ids.empty() || encoding.ids.back() != end)) encoding.ids.push_back(end);
    // The very first token has no predecessor to predict it from.
    documents.push_back(
        {.begin = begin, .end = begin + std::ssize(encoding.ids), .learned = begin + std::max<int64_t>(read, 1)});
    write(encoding.ids);
  };
  const auto encode = [&] {
    at = 0;
    group.encode(take);
    prompt_bytes.clear();
  };
  while (const auto document = reader.next()) {
    prompt_bytes.push_back(document->prompt.size());
    group.add({.text = document->prompt + document->text});
    if (group.full()) encode();
  }
  encode();
  return documents;
}

}  // namespace

std::vector<StoredDocument> tokenize_to_file(const TextSource& from, const text::Tokenizer& tokenizer,
                                             const std::string& file, std::vector<std::string>& notes) {
  Unknown unknown(tokenizer);
  std::vector<StoredDocument> documents;
  text::write_token_file(file, tokenizer.vocab_size(), [&](const text::TokenWriter& write) {
    if (from.has_documents())
      documents = write_documents(from, tokenizer, write, unknown);
    else
      write_text(from, tokenizer, write, unknown);
  });
  if (const std::string note = unknown.note(); !note.empty()) notes.push_back(fmt::format("{}: {}", from.file, note));
  return documents;
}

}  // namespace tape::train
