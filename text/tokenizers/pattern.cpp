#include "text/tokenizers/pattern.h"

#include "text/tokenizers/word_patterns.h"

namespace tape::text {
namespace {

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string text) : text_(std::move(text)) {}

  std::vector<Range> matches(std::string_view text) const override {
    std::vector<Range> out;
    if (text_.empty()) return out;
    for (size_t at = 0; (at = text.find(text_, at)) != std::string_view::npos; at += text_.size())
      out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + text_.size())});
    return out;
  }

 private:
  std::string text_;
};

class KnownPattern : public Pattern {
 public:
  explicit KnownPattern(FindWords find) : find_(find) {}

  std::vector<Range> matches(std::string_view text) const override {
    std::vector<Range> out;
    find_(text, out);
    return out;
  }

 private:
  FindWords find_;
};

}  // namespace

PatternPtr literal_pattern(std::string text) { return std::make_unique<LiteralPattern>(std::move(text)); }

PatternPtr regular_expression(std::string_view expression, const std::string& where) {
  for (const WordPattern& known : word_patterns())
    if (expression == known.expression) return std::make_unique<KnownPattern>(known.find);
  return oniguruma_pattern(expression, where);
}

}  // namespace tape::text
