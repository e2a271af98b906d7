#include "text/tokenizers/steps/decoder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/tokenizers/steps/byte_level.h"

namespace tape::text {

std::string replaced(const std::string& text, std::string_view pattern, std::string_view content) {
  std::string out;
  size_t at = 0;
  for (size_t found; !pattern.empty() && (found = text.find(pattern, at)) != std::string::npos;
       at = found + pattern.size()) {
    out.append(text, at, found - at);
    out += content;
  }
  return out.append(text, at);
}

namespace {

/// English spacing: no spaces before punctuation and contractions.
std::string cleaned(std::string text) { return replaced(cleaned_up(std::move(text)), " do not", " don't"); }

/// Replaces each token by each(token, is_first, is_last).
template <class Each>
Decoder each_token(Each each) {
  return [each = std::move(each)](std::vector<std::string>& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = each(std::move(tokens[i]), i == 0, i + 1 == tokens.size());
  };
}

}  // namespace

std::string cleaned_up(std::string text) {
  // All except " ' " lose the leading space.
  for (const std::string_view from : {" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're"})
    text = replaced(text, from, from == " ' " ? "'" : from.substr(1));
  return text;
}

int byte_of_token(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9', letter = (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
    if (!digit && !letter) return -1;
    value = 16 * value + (digit ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

Decoder word_piece_decoder(std::string prefix, bool cleanup) {
  return each_token([prefix = std::move(prefix), cleanup](std::string token, bool first, bool) {
    if (!first) token = token.starts_with(prefix) ? token.substr(prefix.size()) : fmt::format(" {}", token);
    return cleanup ? cleaned(std::move(token)) : token;
  });
}

Decoder byte_level_decoder() {
  return each_token([](std::string token, bool, bool) { return from_byte_characters(token).value_or(token); });
}

Decoder metaspace_decoder(std::string replacement, bool prepended) {
  return each_token([replacement = std::move(replacement), prepended](const std::string& token, bool first, bool) {
    return replaced(token, replacement, first && prepended ? "" : " ");
  });
}

Decoder suffix_decoder(std::string suffix) {
  return each_token([suffix = std::move(suffix)](const std::string& token, bool, bool last) {
    return replaced(token, suffix, last ? "" : " ");
  });
}

Decoder ctc_decoder(std::string pad, std::string delimiter, bool cleanup) {
  return [=](std::vector<std::string>& tokens) {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      token = replaced(token, pad, "");
      if (cleanup) token = replaced(cleaned(std::move(token)), delimiter, " ");
    }
    std::erase(tokens, "");
  };
}

Decoder replace_decoder(Pattern pattern, std::string content) {
  return each_token([pattern = std::move(pattern), content = std::move(content)](const std::string& token, bool, bool) {
    std::string out;
    size_t done = 0;
    for (const Range& match : pattern(token)) {
      out.append(token, done, match.begin - done);
      out += content;
      done = match.end;
    }
    return out.append(token, done);
  });
}

Decoder byte_fallback_decoder() {
  return [](std::vector<std::string>& tokens) {
    std::vector<std::string> out;
    std::string bytes;
    const auto end_bytes = [&] {
      if (bytes.empty()) return;
      if (valid_utf8(bytes))
        out.push_back(bytes);
      else
        out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byte_of_token(token); byte >= 0) {
        bytes += static_cast<char>(byte);
      } else {
        end_bytes();
        out.push_back(std::move(token));
      }
    }
    end_bytes();
    tokens = std::move(out);
  };
}

Decoder fuse_decoder() {
  return [](std::vector<std::string>& tokens) { tokens = {fmt::format("{}", fmt::join(tokens, ""))}; };
}

Decoder strip_decoder(std::string content, int64_t start, int64_t stop) {
  return each_token([content = std::move(content), start, stop](const std::string& token, bool, bool) {
    std::string_view rest = token;
    for (int64_t i = 0; i < start && !content.empty() && rest.starts_with(content); ++i)
      rest.remove_prefix(content.size());
    for (int64_t i = 0; i < stop && !content.empty() && rest.ends_with(content); ++i)
      rest.remove_suffix(content.size());
    return std::string(rest);
  });
}

Decoder decoder_sequence(std::vector<Decoder> steps) {
  return [steps = std::move(steps)](std::vector<std::string>& tokens) {
    for (const Decoder& step : steps) step(tokens);
  };
}

}  // namespace tape::text
