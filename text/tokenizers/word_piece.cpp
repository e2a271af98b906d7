#include "text/tokenizers/word_piece.h"

#include <algorithm>

#include "base/file.h"
#include "base/path.h"
#include "text/corpus/corpus_file.h"
#include "text/tokenizers/steps/word_models.h"

namespace tape::text {
namespace {

TokenizerConfig config_of(const WordPieceOptions& options) {
  TokenizerConfig config;
  config.tokenizer_class = "BertTokenizer";
  config.do_lower_case = options.lowercase;
  config.strip_accents = options.strip_accents;
  config.tokenize_chinese_chars = options.handle_chinese_chars;
  config.unk = options.unk;
  config.cls = options.cls;
  config.sep = options.sep;
  config.pad = options.pad;
  config.mask = options.mask;
  return config;
}

}  // namespace

WordPiece::WordPiece(TokenTable::Entries vocabulary, TokenizerConfig config, int64_t max_word_characters,
                     const std::string& where)
    : Pipeline([&] {
        Parts parts{.table = make_token_table(std::move(vocabulary), config, where)};
        const bool lowercase = config.do_lower_case.value_or(true);
        parts.normalizer = bert_normalizer({.handle_chinese_chars = config.tokenize_chinese_chars.value_or(true),
                                            .strip_accents = config.strip_accents.value_or(lowercase),
                                            .lowercase = lowercase});
        parts.pre_tokenizer = bert_pre_tokenizer();
        parts.model = word_piece_model(*parts.table,
                                       {.unk_token = config.unk, .max_word_characters = max_word_characters}, where);
        parts.decoder = word_piece_decoder("##", true);
        parts.clean_up = config.clean_up_tokenization_spaces.value_or(false);
        parts.config = std::move(config);
        return parts;
      }()) {
  if (special_.cls < 0 || special_.sep < 0) raise(ErrorKind::format, "{}: cls_token and sep_token are required", where);
  using Kind = Part::Kind;
  const Part cls{Kind::special, special_.cls, 0}, sep{Kind::special, special_.sep, 0};
  template_.single = {cls, {Kind::first}, sep};
  template_.pair = {cls, {Kind::first}, sep, {Kind::second, 0, 1}, {Kind::special, special_.sep, 1}};
}

WordPiece::WordPiece(std::vector<std::string> vocabulary, const WordPieceOptions& options)
    : WordPiece(TokenTable::numbered(std::move(vocabulary)), config_of(options), options.max_word_characters,
                "WordPiece") {}

std::unique_ptr<WordPiece> WordPiece::load(const std::string& folder) {
  const std::string path = file_in_folder(folder, "vocab.txt"), content = read_text(path);
  check_not_utf16(content, path);
  std::vector<std::string> tokens;
  for (std::string_view rest = content; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    tokens.emplace_back(line);
  }
  const TokenizerConfig config = read_tokenizer_config(folder, config_of(WordPieceOptions{}));
  return std::unique_ptr<WordPiece>(
      new WordPiece(TokenTable::numbered(std::move(tokens)), config, WordPieceOptions{}.max_word_characters, path));
}

void WordPiece::save(const std::string& folder) const {
  std::string vocabulary;
  for (int64_t id = 0; id < vocab_size(); ++id) {
    if (!table().in_model(id)) continue;
    vocabulary += token(id);
    vocabulary += '\n';
  }
  write_in_folder(folder, "vocab.txt", vocabulary);
  save_config(folder);
}

}  // namespace tape::text
