#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <new>

#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizers/patterns/pattern.h"
#include "text/tokenizers/patterns/regex_encoding.h"

namespace tape::text {
namespace {

constexpr size_t kLongest = 1 << 15;            ///< maximum length of an expression in bytes
constexpr uint64_t kEasySteps = 1000;           ///< steps of a search that are not counted
constexpr uint64_t kSteps = 10'000'000;         ///< limit on the steps for a text,
constexpr uint64_t kStepsPerByte = 1'000;       ///< plus this for each of its bytes
constexpr unsigned kMaxBacktracking = 1 << 22;  ///< limit on backtracking positions

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
void free_region(OnigRegion* region) { onig_region_free(region, 1); }
using Regex = std::shared_ptr<std::remove_pointer_t<OnigRegex>>;
using Region = std::unique_ptr<OnigRegion, FreeWith<free_region>>;
using MatchParam = std::unique_ptr<OnigMatchParam, FreeWith<onig_free_match_param>>;

template <class T>
T* made(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

const OnigUChar* bytes_of(std::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }

/// The text as valid UTF-8, with U+FFFD for invalid sequences and the origin of each byte.
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

/// A sequence of searches through a text.
class Search {
 public:
  Search(OnigRegex regex, std::string_view text)
      : regex_(regex),
        text_(text),
        steps_left_(kSteps + kStepsPerByte * text.size()),
        param_(made(onig_new_match_param())),
        region_(made(onig_region_new())) {
    onig_set_match_stack_limit_size_of_match_param(param_.get(), kMaxBacktracking);
    onig_set_retry_limit_in_match_of_match_param(param_.get(), std::numeric_limits<unsigned long>::max());
  }

  /// Returns the first match at or after a position; negative for no match or an error. The library does not report
  /// how many steps it took, so each search starts with a low limit and is repeated with higher ones.
  int find(size_t at) {
    for (uint64_t steps = kEasySteps;; steps *= 8) {
      const uint64_t allowed = std::min(steps, steps_left_);
      const int found = find_within(at, allowed);
      if (steps > kEasySteps) steps_left_ -= allowed;
      if (found != ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER || steps_left_ == 0) return found;
    }
  }

  int begin() const { return region_->beg[0]; }
  int end() const { return region_->end[0]; }

 private:
  int find_within(size_t at, uint64_t steps) {
    onig_set_retry_limit_in_search_of_match_param(param_.get(), steps);
    const OnigUChar *const begin = bytes_of(text_), *const end = begin + text_.size();
    const int found =
        onig_search_with_param(regex_, begin, end, begin + at, end, region_.get(), ONIG_OPTION_NONE, param_.get());
    if (found == ONIGERR_MEMORY) throw std::bad_alloc();
    return found;
  }

  OnigRegex regex_;
  std::string_view text_;
  uint64_t steps_left_;
  MatchParam param_;
  Region region_;
};

std::string sentence_of(int error, OnigErrorInfo* info = nullptr) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> sentence{};
  onig_error_code_to_str(sentence.data(), error, info);
  return clipped(reinterpret_cast<const char*>(sentence.data()), 200);
}

class OnigurumaPattern {
 public:
  OnigurumaPattern(std::string_view expression, const std::string& where)
      : shown_(fmt::format("{}: the regular expression \"{}\"", where, clipped(expression, 100))) {
    if (expression.size() > kLongest)
      raise(ErrorKind::format, "{}: has {} bytes, more than {}", shown_, expression.size(), kLongest);
    OnigRegex regex = nullptr;
    OnigErrorInfo info{};
    const OnigUChar* begin = bytes_of(expression);
    const int error = onig_new(&regex, begin, begin + expression.size(), ONIG_OPTION_NONE, regex_encoding(),
                               ONIG_SYNTAX_ONIGURUMA, &info);
    if (error == ONIGERR_MEMORY) throw std::bad_alloc();
    if (error != ONIG_NORMAL) raise(ErrorKind::format, "{}: {}", shown_, sentence_of(error, &info));
    regex_.reset(regex, onig_free);
  }

  std::vector<Range> operator()(std::string_view text) const {
    if (text.size() > std::numeric_limits<int>::max() / 4)
      raise(ErrorKind::format, "{}: a text of {} bytes is too long", shown_, text.size());
    if (valid_utf8(text)) return matches_of_valid(text);
    const Repaired repaired(text);
    std::vector<Range> out = matches_of_valid(repaired.text);
    for (Range& range : out) range = {repaired.from[range.begin], repaired.from[range.end]};
    return out;
  }

 private:
  std::vector<Range> matches_of_valid(std::string_view text) const {
    std::vector<Range> out;
    if (text.empty()) return out;  // as in tokenizers
    Search search(regex_.get(), text);
    for (size_t at = 0; at <= text.size();) {
      const int found = search.find(at);
      if (found == ONIG_MISMATCH) break;
      if (found < 0) fail(found, text.size());
      if (search.begin() > search.end()) raise(ErrorKind::format, "{}: a match ends before it begins", shown_);
      const Range range{static_cast<uint32_t>(search.begin()), static_cast<uint32_t>(search.end())};
      at = range.end;
      if (range.begin == range.end && !out.empty() && out.back().end == range.end)
        at += at < text.size() ? decode_utf8(text.substr(at)).length : 1;
      else
        out.push_back(range);
    }
    return out;
  }

  [[noreturn]] void fail(int error, size_t size) const {
    if (error == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER)
      raise(ErrorKind::format, "{}: takes too many steps on a text of {} bytes", shown_, size);
    if (error == ONIGERR_MATCH_STACK_LIMIT_OVER)
      raise(ErrorKind::format, "{}: takes too much memory on a text of {} bytes", shown_, size);
    raise(ErrorKind::format, "{}: {}", shown_, sentence_of(error));
  }

  std::string shown_;
  Regex regex_;
};

}  // namespace

Pattern oniguruma_pattern(std::string_view expression, const std::string& where) {
  return OnigurumaPattern(expression, where);
}

}  // namespace tape::text
