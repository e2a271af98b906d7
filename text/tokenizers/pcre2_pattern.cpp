// PCRE2 is used without its JIT: compiled code counts no steps of a single repeated character, and could not be
// stopped.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizers/pattern.h"
#include "text/tokenizers/pattern_syntax.h"

namespace tape::text {
namespace {

constexpr uint32_t kEasySteps = 1000;         ///< of an attempt that is not counted
constexpr uint64_t kSteps = 10'000'000;       ///< that a text may take beyond,
constexpr uint64_t kStepsPerByte = 1'000;     ///< and for each of its bytes
constexpr uint32_t kMostKilobytes = 1 << 18;  ///< that an attempt may remember

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Code = std::unique_ptr<pcre2_code, FreeWith<pcre2_code_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, FreeWith<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreeWith<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, FreeWith<pcre2_match_data_free>>;

template <class T>
T* made(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

// PCRE2 10.43 began to accept lookbehinds of limited length. They stay refused, so that a file means the same with
// every version.
#ifdef PCRE2_ERROR_MAX_VAR_LOOKBEHIND_EXCEEDED
constexpr int kVaryingLookbehind = PCRE2_ERROR_MAX_VAR_LOOKBEHIND_EXCEEDED;
void refuse_varying_lookbehinds(pcre2_compile_context* context) { pcre2_set_max_varlookbehind(context, 0); }
#else
constexpr int kVaryingLookbehind = PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH;
void refuse_varying_lookbehinds(pcre2_compile_context*) {}
#endif

std::string sentence_of(int error) {
  if (error == kVaryingLookbehind || error == PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH)
    return "a lookbehind that can match texts of different lengths is not supported";
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// Valid UTF-8: every broken sequence is U+FFFD, and where each byte came from is remembered.
struct Repaired {
  std::string text;
  std::vector<uint32_t> from;

  explicit Repaired(std::string_view source) {
    for (size_t at = 0; at < source.size();) {
      const CodePoint point = decode_utf8(source.substr(at));
      append_utf8(point.value, text);
      from.resize(text.size(), static_cast<uint32_t>(at));
      at += point.length;
    }
    from.push_back(static_cast<uint32_t>(source.size()));
  }
};

/// One walk through a text.
class Search {
 public:
  Search(const pcre2_code* code, std::string_view text)
      : code_(code),
        text_(text),
        steps_left_(kSteps + kStepsPerByte * text.size()),
        context_(made(pcre2_match_context_create(nullptr))),
        data_(made(pcre2_match_data_create(1, nullptr))) {
    pcre2_set_heap_limit(context_.get(), kMostKilobytes);
  }

  /// The first match from a place on: a negative number where there is none, or of an error.
  int find(size_t at) {
    const int found = match(at, 0, kEasySteps);
    if (found != PCRE2_ERROR_MATCHLIMIT) return found;
    for (; at <= text_.size(); at += at < text_.size() ? decode_utf8(text_.substr(at)).length : 1)
      if (const int here = match_here(at); here != PCRE2_ERROR_NOMATCH) return here;
    return PCRE2_ERROR_NOMATCH;
  }

  size_t begin() const { return pcre2_get_ovector_pointer(data_.get())[0]; }
  size_t end() const { return pcre2_get_ovector_pointer(data_.get())[1]; }

 private:
  /// The attempt at a place, with more steps each time, counted.
  int match_here(size_t at) {
    for (uint64_t steps = kEasySteps;; steps *= 8) {
      const auto allowed = static_cast<uint32_t>(std::min<uint64_t>({steps, steps_left_, UINT32_MAX}));
      const int found = match(at, PCRE2_ANCHORED, allowed);
      if (steps > kEasySteps) steps_left_ -= allowed;
      if (found != PCRE2_ERROR_MATCHLIMIT || steps_left_ == 0) return found;
    }
  }

  int match(size_t at, uint32_t options, uint32_t steps) {
    pcre2_set_match_limit(context_.get(), steps);
    const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at,
                                  options | PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data_.get(), context_.get());
    if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    return found;
  }

  const pcre2_code* code_;
  std::string_view text_;
  uint64_t steps_left_;
  MatchContext context_;
  MatchData data_;
};

class Pcre2Pattern : public Pattern {
 public:
  Pcre2Pattern(std::string_view expression, const std::string& where)
      : shown_(fmt::format("{}: the regular expression \"{}\"", where, clipped(expression, 100))) {
    const std::string pattern = pattern_for_pcre2(expression, where);
    const CompileContext context(made(pcre2_compile_context_create(nullptr)));
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    refuse_varying_lookbehinds(context.get());
    int error = 0;
    size_t at = 0;
    // Without automatic possession every step that is tried again is counted.
    code_.reset(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
        PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NO_AUTO_CAPTURE | PCRE2_NO_AUTO_POSSESS | PCRE2_NEVER_BACKSLASH_C, &error,
        &at, context.get()));
    if (!code_) raise(ErrorKind::format, "{}: {}", shown_, sentence_of(error));
  }

  std::vector<Range> matches(std::string_view text) const override {
    if (valid_utf8(text)) return matches_of_valid(text);
    const Repaired repaired(text);
    std::vector<Range> out = matches_of_valid(repaired.text);
    for (Range& range : out) range = {repaired.from[range.begin], repaired.from[range.end]};
    return out;
  }

 private:
  std::vector<Range> matches_of_valid(std::string_view text) const {
    std::vector<Range> out;
    Search search(code_.get(), text);
    for (size_t at = 0; at <= text.size();) {
      const int found = search.find(at);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_HEAPLIMIT || found == PCRE2_ERROR_DEPTHLIMIT)
        raise(ErrorKind::format, "{}: takes too many steps on a text of {} bytes", shown_, text.size());
      if (found < 0) raise(ErrorKind::format, "{}: {}", shown_, sentence_of(found));
      const Range range{static_cast<uint32_t>(search.begin()), static_cast<uint32_t>(search.end())};
      at = range.end;
      if (range.begin == range.end && !out.empty() && out.back().end == range.end)
        at += at < text.size() ? decode_utf8(text.substr(at)).length : 1;
      else
        out.push_back(range);
    }
    return out;
  }

  std::string shown_;
  Code code_;
};

}  // namespace

PatternPtr pcre2_pattern(std::string_view expression, const std::string& where) {
  return std::make_unique<Pcre2Pattern>(expression, where);
}

}  // namespace tape::text
