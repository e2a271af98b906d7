#include <fmt/format.h>

#include "text/tokenizers/steps/word_models.h"

#include "base/utf8.h"
#include "text/tokenizers/steps/trie.h"

namespace tape::text {
namespace {

class WordPieceModel : public WordModel {
 public:
  WordPieceModel(const TokenTable& vocabulary, const WordPieceModelOptions& options, const std::string& where)
      : vocabulary_(vocabulary), max_word_characters_(static_cast<size_t>(options.max_word_characters)) {
    if (options.max_word_characters < 0)
      raise(ErrorKind::format, "{}: max_input_chars_per_word must not be negative, got {}", where,
            options.max_word_characters);
    unk_ = static_cast<int32_t>(required_id(vocabulary, options.unk_token, where));
    for (int64_t id = 0; id < vocabulary.size(); ++id)
      if (vocabulary.in_model(id)) trie_.add(vocabulary.token(id), static_cast<int32_t>(id));
    continues_ = trie_.walk(continuation_, options.continuing_prefix);
  }

  void explain(std::string_view word, std::vector<std::string>& lines) const override {
    std::vector<Piece> pieces;
    split_word(word, pieces);
    const std::string shown = clipped(word, 200);
    if (characters(word) > max_word_characters_) {
      lines.push_back(
          fmt::format("  {} -> {} (more than {} characters)", shown, vocabulary_.token(unk_), max_word_characters_));
    } else if (pieces[0].id == unk_) {
      lines.push_back(fmt::format("  {} -> {} (no token matches the rest)", shown, vocabulary_.token(unk_)));
    } else {
      std::string line = fmt::format("  {} ->", shown);
      for (const Piece& piece : pieces)
        line += fmt::format(" {} ({})", clipped(vocabulary_.token(piece.id), 100), piece.id);
      lines.push_back(std::move(line));
    }
  }

 private:
  static size_t characters(std::string_view word) {
    size_t count = 0;
    for (const char c : word) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
  }

  void split_word(std::string_view word, std::vector<Piece>& to) const override {
    const size_t before = to.size();
    const auto size = static_cast<uint32_t>(word.size());
    bool known = word.size() <= max_word_characters_ || characters(word) <= max_word_characters_;
    for (uint32_t at = 0; known && at < size;) {
      uint32_t node = at == 0 ? Trie::kRoot : continuation_, end = at;
      int32_t id = Trie::kNone;
      if (at == 0 || continues_)
        for (uint32_t next = at; next < size && trie_.step(node, word[next]);)
          if (++next; trie_.value(node) != Trie::kNone) {
            id = trie_.value(node);
            end = next;
          }
      known = id != Trie::kNone;
      if (known) to.push_back({id, at, end});
      at = end;
    }
    if (known) return;
    to.resize(before);
    to.push_back({unk_, 0, size});
  }

  const TokenTable& vocabulary_;
  size_t max_word_characters_;
  int32_t unk_;
  Trie trie_;
  uint32_t continuation_ = Trie::kRoot;  // the node of "##"
  bool continues_;
};

}  // namespace

WordModelPtr word_piece_model(const TokenTable& vocabulary, const WordPieceModelOptions& options,
                              const std::string& where) {
  return std::make_unique<WordPieceModel>(vocabulary, options, where);
}

}  // namespace tape::text
