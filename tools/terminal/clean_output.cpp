#include "tools/terminal/clean_output.h"

#include <cstring>
#include <iostream>
#include <sstream>

#include "base/terminal.h"
#include "base/utf8.h"

namespace tape::tools {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

bool is_control(const CodePoint& point) {
  const char32_t c = point.value;
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0);
}

/// Number of bytes of a color sequence of train/runs/progress.cpp or inspect/palette.cpp at the start of a text, else
/// 0.
size_t own_color(std::string_view text) {
  constexpr size_t kLongest = 24;
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.substr(0, kLongest).find_first_not_of("0123456789;", 2);
  if (end == std::string_view::npos || text[end] != 'm') return 0;
  const std::string_view code = text.substr(2, end - 2);
  const bool background = code.starts_with("30;48;") || code.starts_with("97;48;");
  return background || code == "0" || code == "36" || code == "90" ? end + 1 : 0;
}

/// Whether a text is an incomplete UTF-8 character.
bool is_cut_off(std::string_view text) {
  if (text.size() > 3) return false;
  const CodePoint point = decode_utf8(text);
  if (point.valid || point.length < text.size()) return false;
  const auto lead = static_cast<unsigned char>(text[0]);
  return lead >= 0xC2 && lead <= 0xF4;
}

}  // namespace

int CleanBuffer::overflow(int c) {
  if (traits_type::eq_int_type(c, traits_type::eof()))
    return sync() == 0 ? traits_type::not_eof(c) : traits_type::eof();
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

std::streamsize CleanBuffer::xsputn(const char* text, std::streamsize size) {
  std::string_view rest(text, static_cast<size_t>(size));
  // Must not allocate: the out-of-memory message passes through here.
  while (held_size_ > 0 && !rest.empty()) {
    held_[held_size_++] = rest.front();
    rest.remove_prefix(1);
    const std::string_view held(held_, held_size_);
    if (is_cut_off(held)) continue;
    held_size_ = 0;
    if (!pass(held)) return 0;
  }
  return pass(rest) ? size : 0;
}

bool CleanBuffer::pass(std::string_view text) {
  const auto put = [this](std::string_view part) {
    return to_.sputn(part.data(), static_cast<std::streamsize>(part.size())) ==
           static_cast<std::streamsize>(part.size());
  };
  if (for_terminal_ && (text == "\r" || text == "\x1b[K" || text == "\r\x1b[K")) return put(text);
  size_t clean = 0;  // bytes so far that need no change
  while (clean < text.size()) {
    const std::string_view rest = text.substr(clean);
    if (const size_t color = for_terminal_ ? own_color(rest) : 0; color > 0) {
      clean += color;
      continue;
    }
    const CodePoint point = decode_utf8(rest);
    if (point.valid && !is_control(point)) {
      clean += point.length;
      continue;
    }
    if (!put(text.substr(0, clean))) return false;
    if (!point.valid && is_cut_off(rest)) {
      std::memcpy(held_, rest.data(), rest.size());
      held_size_ = rest.size();
      return true;
    }
    if (!put(kReplacement)) return false;
    text = rest.substr(point.length);
    clean = 0;
  }
  return put(text);
}

int CleanBuffer::sync() {
  if (held_size_ > 0) to_.sputn(kReplacement.data(), static_cast<std::streamsize>(kReplacement.size()));
  held_size_ = 0;
  return to_.pubsync();
}

CleanStandardStreams::CleanStandardStreams()
    : out_(std::cout.rdbuf()),
      error_(std::cerr.rdbuf()),
      clean_out_(*out_, terminal_info(1).tty),
      clean_error_(*error_, terminal_info(2).tty) {
  std::cout.rdbuf(&clean_out_);
  std::cerr.rdbuf(&clean_error_);
}

CleanStandardStreams::~CleanStandardStreams() {
  // Also removes a buffer that a command installed in the meantime.
  std::cout.rdbuf(out_);
  std::cerr.rdbuf(error_);
}

std::string clean_text(std::string_view text) {
  std::stringbuf clean;
  CleanBuffer buffer(clean, false);
  buffer.sputn(text.data(), static_cast<std::streamsize>(text.size()));
  buffer.pubsync();
  return clean.str();
}

}  // namespace tape::tools
