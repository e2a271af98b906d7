#include "text/score_tokenizer.h"

#include <array>

#include <utf8proc.h>

#include "base/error.h"

namespace tape::text {
namespace {

using Text = std::u32string;
using View = std::u32string_view;
using Class = bool (*)(char32_t);

constexpr std::array<std::string_view, 4> kTokenizerNames{"13a", "none", "intl", "char"};

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_no_digit(char32_t c) { return !is_digit(c); }
bool is_stop(char32_t c) { return c == '.' || c == ','; }
bool is_dash(char32_t c) { return c == '-'; }
/// ASCII's symbols without ' , - and the full stop.
bool is_symbol_13a(char32_t c) {
  if (c == '\'' || c == ',' || c == '-' || c == '.') return false;
  return (c >= ' ' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// The first letter of a code point's category: L, M, N, P, S, Z or C.
char category(char32_t c) { return utf8proc_category_string(static_cast<utf8proc_int32_t>(c))[0]; }
bool is_no_number(char32_t c) { return category(c) != 'N'; }
bool is_punctuation(char32_t c) { return category(c) == 'P'; }
bool is_symbol(char32_t c) { return category(c) == 'S'; }

/// Blanks around every character of the class.
Text part_single(View text, Class what) {
  Text out;
  for (const char32_t c : text) {
    if (what(c)) {
      out.append({' ', c, ' '});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

enum class Around { first, second };

/// Blanks around one of each pair of neighbours of two classes. From left to right, and a character belongs to one pair
/// only: what a regular expression's replacement does.
Text part_pairs(View text, Class first, Class second, Around around) {
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      out.push_back(text[i]);
    } else if (around == Around::first) {
      out.append({' ', text[i], ' ', text[i + 1]});
      ++i;
    } else {
      out.append({text[i], ' ', text[i + 1], ' '});
      ++i;
    }
  }
  return out;
}

void replace_all(Text& text, View what, View with) {
  for (size_t at = text.find(what); at != Text::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

Text separate_13a(View line) {
  Text text(line);
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  Text padded = U" ";
  padded += text;
  padded += U' ';
  padded = part_single(padded, is_symbol_13a);
  padded = part_pairs(padded, is_no_digit, is_stop, Around::second);
  padded = part_pairs(padded, is_stop, is_no_digit, Around::first);
  return part_pairs(padded, is_digit, is_dash, Around::second);
}

Text separate_intl(View line) {
  const Text before = part_pairs(line, is_no_number, is_punctuation, Around::second);
  const Text behind = part_pairs(before, is_punctuation, is_no_number, Around::first);
  return part_single(behind, is_symbol);
}

}  // namespace

std::u32string separate_words(View text, BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::v13a:
      return separate_13a(text);
    case BleuTokenizer::intl:
      return separate_intl(text);
    case BleuTokenizer::character:
      return part_single(text, [](char32_t) { return true; });
    case BleuTokenizer::none:
      break;
  }
  return Text(text);
}

std::string_view name_of(BleuTokenizer tokenizer) { return kTokenizerNames[static_cast<size_t>(tokenizer)]; }

BleuTokenizer bleu_tokenizer(std::string_view name) {
  for (size_t i = 0; i < kTokenizerNames.size(); ++i)
    if (kTokenizerNames[i] == name) return static_cast<BleuTokenizer>(i);
  raise(ErrorKind::config, "bleu: tokenizer \"{}\" is not one of 13a, none, intl, char", name);
}

}  // namespace tape::text
