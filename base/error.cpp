#include "base/error.h"

#include <iterator>

namespace tape {
namespace {

std::string bounded(std::string text) {
  if (text.size() <= Error::kMaxBytes) return text;
  constexpr size_t kMarkerBytes = 40;  // more than the longest one takes
  size_t kept = Error::kMaxBytes - kMarkerBytes;
  // A character of UTF-8 has at most three continuation bytes; other bytes are cut where they are.
  for (int i = 0; i < 3 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80; ++i) --kept;
  const size_t cut = text.size() - kept;
  text.resize(kept);
  fmt::format_to(std::back_inserter(text), "... ({} bytes more)", cut);
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& message)
    : std::runtime_error(bounded(message)), kind_(kind), text_(std::runtime_error::what()) {}

void Error::set_module_path(std::string_view path) {
  if (!path_.empty() || path.empty()) return;
  path_ = path;
  text_ = bounded(path_ + ": " + text_);
}

void assertion_failed(const char* condition, const char* file, int line) {
  throw std::logic_error(fmt::format("{}:{}: internal check failed: {}", file, line, condition));
}

}  // namespace tape
