#include "text/tokenizers/patterns/pattern.h"

#include "text/tokenizers/patterns/word_patterns.h"

namespace tape::text {

Pattern literal_pattern(std::string content) {
  return [content = std::move(content)](std::string_view text) {
    std::vector<Range> out;
    for (size_t at = 0; !content.empty() && (at = text.find(content, at)) != std::string_view::npos;
         at += content.size())
      out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + content.size())});
    return out;
  };
}

Pattern regular_expression(std::string_view expression, const std::string& where) {
  for (const WordPattern& known : word_patterns())
    if (expression == known.expression) return known.find;
  return oniguruma_pattern(expression, where);
}

}  // namespace tape::text
