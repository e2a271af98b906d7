#include "text/tokenizers/decoder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/utf8.h"
#include "text/tokenizers/byte_level.h"

namespace tape::text {
namespace {

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

/// English as it is written: no blanks before punctuation and contractions.
std::string cleaned(std::string text) { return replaced(cleaned_up(std::move(text)), " do not", " don't"); }

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0) token = token.starts_with(prefix_) ? token.substr(prefix_.size()) : fmt::format(" {}", token);
      if (cleanup_) token = cleaned(std::move(token));
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class ByteLevelDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens)
      if (auto bytes = from_byte_characters(token)) token = std::move(*bytes);
  }
};

class MetaspaceDecoder : public Decoder {
 public:
  MetaspaceDecoder(std::string replacement, bool prepended)
      : replacement_(std::move(replacement)), prepended_(prepended) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replaced(tokens[i], replacement_, i == 0 && prepended_ ? "" : " ");
  }

 private:
  std::string replacement_;
  bool prepended_;
};

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(PatternPtr pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string out;
      size_t done = 0;
      for (const Range& match : pattern_->matches(token)) {
        out.append(token, done, match.begin - done);
        out += content_;
        done = match.end;
      }
      if (done > 0 || !out.empty()) token = out.append(token, done);
    }
  }

 private:
  PatternPtr pattern_;
  std::string content_;
};

/// Blanks in the place of the suffix, but for the last word.
class SuffixDecoder : public Decoder {
 public:
  explicit SuffixDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replaced(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }

 private:
  std::string suffix_;
};

class CtcDecoder : public Decoder {
 public:
  CtcDecoder(std::string pad, std::string delimiter, bool cleanup)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}
  void apply(std::vector<std::string>& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      token = replaced(token, pad_, "");
      if (cleanup_) token = replaced(cleaned(std::move(token)), delimiter_, " ");
    }
    std::erase(tokens, "");
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
};

class ByteFallbackDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
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
  }
};

class FuseDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, all);
  }
};

class StripDecoder : public Decoder {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (int64_t i = 0; i < start_ && !content_.empty() && rest.starts_with(content_); ++i)
        rest.remove_prefix(content_.size());
      for (int64_t i = 0; i < stop_ && !content_.empty() && rest.ends_with(content_); ++i)
        rest.remove_suffix(content_.size());
      token = std::string(rest);
    }
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPtr> steps) : steps_(std::move(steps)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (const DecoderPtr& step : steps_) step->apply(tokens);
  }

 private:
  std::vector<DecoderPtr> steps_;
};

}  // namespace

std::string cleaned_up(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kCleanups{{{" .", "."},
                                                                                     {" ?", "?"},
                                                                                     {" !", "!"},
                                                                                     {" ,", ","},
                                                                                     {" ' ", "'"},
                                                                                     {" n't", "n't"},
                                                                                     {" 'm", "'m"},
                                                                                     {" 's", "'s"},
                                                                                     {" 've", "'ve"},
                                                                                     {" 're", "'re"}}};
  for (const auto& [from, to] : kCleanups) text = replaced(text, from, to);
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

DecoderPtr word_piece_decoder(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceDecoder>(std::move(prefix), cleanup);
}
DecoderPtr byte_level_decoder() { return std::make_unique<ByteLevelDecoder>(); }
DecoderPtr metaspace_decoder(std::string replacement, bool prepended) {
  return std::make_unique<MetaspaceDecoder>(std::move(replacement), prepended);
}
DecoderPtr suffix_decoder(std::string suffix) { return std::make_unique<SuffixDecoder>(std::move(suffix)); }
DecoderPtr ctc_decoder(std::string pad, std::string delimiter, bool cleanup) {
  return std::make_unique<CtcDecoder>(std::move(pad), std::move(delimiter), cleanup);
}
DecoderPtr replace_decoder(PatternPtr pattern, std::string content) {
  return std::make_unique<ReplaceDecoder>(std::move(pattern), std::move(content));
}
DecoderPtr byte_fallback_decoder() { return std::make_unique<ByteFallbackDecoder>(); }
DecoderPtr fuse_decoder() { return std::make_unique<FuseDecoder>(); }
DecoderPtr strip_decoder(std::string content, int64_t start, int64_t stop) {
  return std::make_unique<StripDecoder>(std::move(content), start, stop);
}
DecoderPtr decoder_sequence(std::vector<DecoderPtr> steps) {
  return std::make_unique<DecoderSequence>(std::move(steps));
}

}  // namespace tape::text
