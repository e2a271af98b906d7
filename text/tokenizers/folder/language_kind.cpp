#include "text/tokenizers/folder/language_kind.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/fairseq_languages.h"

namespace tape::text {
namespace {

/// Whether a name has NLLB's form, as in `eng_Latn`.
bool is_written_with_script(std::string_view token) {
  const auto all = [token](size_t begin, size_t end, char first, char last) {
    return std::all_of(token.begin() + static_cast<ptrdiff_t>(begin), token.begin() + static_cast<ptrdiff_t>(end),
                       [&](char c) { return c >= first && c <= last; });
  };
  return token.size() == 8 && token[3] == '_' && all(0, 3, 'a', 'z') && all(4, 5, 'A', 'Z') && all(5, 8, 'a', 'z');
}

}  // namespace

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    out.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return out;
}

std::string LanguageKind::token(std::string_view code) const {
  return marked ? fmt::format("__{}__", code) : std::string(code);
}

std::vector<std::string> LanguageKind::language_tokens(const TokenizerConfig& config) const {
  std::vector<std::string> out = words_of(own_ids && config.language_codes == "wmt21" ? languages::kWmt21 : languages);
  for (std::string& code : out) code = token(code);
  return out;
}

std::string LanguageKind::source_of(const TokenizerConfig& config) const {
  return config.src_lang.empty() ? std::string(source) : config.src_lang;
}

int64_t LanguageKind::required_language(const std::string& language, const TokenizerConfig& config,
                                        const TokenTable& table, const std::string& where) const {
  std::vector<std::string> known = language_tokens(config);
  if (languages.empty())
    std::copy_if(table.tokens().begin(), table.tokens().end(), std::back_inserter(known), is_written_with_script);
  std::erase_if(known, [&table](const std::string& token) { return !table.find(token); });
  const auto found = std::find(known.begin(), known.end(), token(language));
  if (found != known.end()) return *table.find(*found);
  std::string list;
  for (const std::string& token : known)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", marked ? token.substr(2, token.size() - 4) : token);
  raise(ErrorKind::format, "{}: unknown language \"{}\"; the tokenizer has {}", where, clipped(language, 40),
        list.empty() ? "none" : list);
}

void choose(TokenizerConfig& config, const Languages& wanted) {
  if (!wanted.source.empty()) config.src_lang = wanted.source;
  if (!wanted.target.empty()) config.tgt_lang = wanted.target;
}

const LanguageKind* language_kind_of(std::string_view tokenizer_class) {
  static constexpr std::array<LanguageKind, 5> kKinds{
      {{.tokenizer_class = "XLMRobertaTokenizer", .languages = "", .source = ""},
       {.tokenizer_class = "MBartTokenizer",
        .languages = languages::kMBart,
        .source = "en_XX",
        .language_after_text = true,
        .target_begins_with_language = true},
       {.tokenizer_class = "MBart50Tokenizer", .languages = languages::kMBart50, .source = "en_XX"},
       {.tokenizer_class = "NllbTokenizer", .languages = "", .source = "eng_Latn", .legacy_language_after_text = true},
       {.tokenizer_class = "M2M100Tokenizer",
        .languages = languages::kM2M100,
        .source = "en",
        .marked = true,
        .own_ids = true,
        .masked = false}}};
  const auto found = std::ranges::find(kKinds, strip_fast_suffix(tokenizer_class), &LanguageKind::tokenizer_class);
  return found == kKinds.end() ? nullptr : &*found;
}

}  // namespace tape::text
