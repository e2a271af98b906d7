#include "base/error.h"

#include <iterator>
#include <ostream>

#include <fmt/format.h>

namespace tape {
namespace {

std::string bounded(std::string text) {
  if (text.size() <= Error::kMaxBytes) return text;
  constexpr size_t kMarkerBytes = 40;  // upper bound on the length of the marker
  size_t kept = Error::kMaxBytes - kMarkerBytes;
  // A UTF-8 character has at most three continuation bytes; anything else is not UTF-8 and may be cut anywhere.
  for (int i = 0; i < 3 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80; ++i) --kept;
  const size_t cut = text.size() - kept;
  text.resize(kept);
  fmt::format_to(std::back_inserter(text), "... ({} more bytes)", cut);
  return text;
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::shape:
      return "shape";
    case ErrorKind::dtype:
      return "dtype";
    case ErrorKind::index:
      return "index";
    case ErrorKind::config:
      return "config";
    case ErrorKind::graph:
      return "graph";
    case ErrorKind::format:
      return "format";
    case ErrorKind::io:
      return "io";
    case ErrorKind::numeric:
      return "numeric";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
    case ErrorKind::device:
      return "device";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& stream, ErrorKind kind) { return stream << to_string(kind); }

Error::Error(ErrorKind kind, const std::string& message)
    : std::runtime_error(bounded(message)), kind_(kind), text_(std::runtime_error::what()) {}

void Error::set_module_path(std::string_view path) {
  if (!path_.empty() || path.empty()) return;
  path_ = path;
  text_ = bounded(path_ + ": " + text_);
}

void raise_formatted(ErrorKind kind, std::string_view format, std::span<const FormatArgument> arguments) {
  throw Error(kind, format_text(format, arguments));
}

void assertion_failed(const char* condition, const char* file, int line) {
  throw std::logic_error(fmt::format("{}:{}: internal check failed: {}", file, line, condition));
}

}  // namespace tape
