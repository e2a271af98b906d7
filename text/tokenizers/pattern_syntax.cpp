#include "text/tokenizers/pattern_syntax.h"

#include <charconv>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizers/pattern_class.h"

namespace tape::text {
namespace {

constexpr int64_t kMostRepeats = 1000;
constexpr size_t kDeepestGroups = 100;
constexpr size_t kLargest = 1 << 20;  ///< bytes written

/// Walks an expression once, and writes as it goes.
class Translation {
 public:
  Translation(std::string_view expression, const std::string& where)
      : expression_(expression),
        fail_([expression, where](size_t at, const std::string& what) {
          raise(ErrorKind::format, "{}: the regular expression \"{}\": at {}: {}", where, clipped(expression, 100), at,
                what);
        }),
        read_(expression_, at_, fail_) {}

  std::string run() {
    while (at_ < expression_.size()) {
      step();
      if (out_.size() > kLargest) fail_(at_, "the expression is too large");
    }
    if (!groups_.empty()) fail_(groups_.back().from, "the group has no end");
    out_.append(static_cast<size_t>(open_options_), ')');
    return std::move(out_);
  }

 private:
  struct Group {
    size_t from;      // its place in the expression
    size_t begin;     // and in what is written
    bool looks;       // ahead or behind: it matches nothing that could be repeated
    int options = 0;  // groups that options such as (?i) opened in it
  };

  bool take(std::string_view text) {
    if (!expression_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  void step() {
    const size_t from = at_;
    const char c = expression_[at_];
    switch (c) {
      case '(':
        ++at_;
        return open(from);
      case ')':
        ++at_;
        return close(from);
      case '|':
      case '^':
      case '$':
        ++at_;
        out_ += c;
        atom_.reset();
        return;
      case '.':
        ++at_;
        return put_atom(".");
      case '[': {
        ++at_;
        bool negated = false;
        const CodePointSet set = read_.bracket(negated);
        return put_atom(written(set, negated));
      }
      case '\\':
        ++at_;
        return escape(from);
      case '*':
      case '+':
      case '?':
        ++at_;
        return repeat(from, std::string(1, c), true);
      case '{':
        if (const auto interval = read_interval()) return repeat(from, interval->text, !interval->exact);
        [[fallthrough]];
      default:
        put_literal(read_.literal());
    }
  }

  void put_atom(std::string_view text) {
    atom_ = out_.size();
    repeated_ = false;
    out_ += text;
  }

  void put_literal(char32_t point) {
    std::string text;
    const bool plain = point >= 0x80 || (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') ||
                       (point >= 'a' && point <= 'z');
    if (!plain && point < ' ') return put_atom(fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(point)));
    if (!plain) text += '\\';
    append_utf8(point, text);
    put_atom(text);
  }

  void escape(size_t from) {
    if (take("b") || take("B")) {
      const std::string word = written(word_set());
      if (expression_[at_ - 1] == 'B')
        out_ += fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
      else
        out_ += fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word);
      atom_.reset();
      return;
    }
    for (const char* anchor : {"A", "z", "Z"})
      if (take(anchor)) {
        out_ += fmt::format("\\{}", anchor);
        atom_.reset();
        return;
      }
    const auto set = read_.escape();
    if (!set) fail_(from, "this escape is not supported");
    const auto& ranges = set->ranges();
    // One code point is written as itself, that upper and lower case may be taken for the same.
    if (ranges.size() == 1 && ranges[0].first == ranges[0].last) return put_literal(ranges[0].first);
    put_atom(written(*set));
  }

  struct Interval {
    std::string text;
    bool exact;
  };

  /// `{2}`, `{2,}`, `{,3}`, `{2,3}`; nothing for a brace that is one.
  std::optional<Interval> read_interval() {
    const size_t end = expression_.find('}', at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inner = expression_.substr(at_ + 1, end - at_ - 1);
    const size_t comma = inner.find(',');
    const auto count = [this](std::string_view digits) -> std::optional<int64_t> {
      int64_t value = 0;
      const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (failed == std::errc::invalid_argument || stop != digits.data() + digits.size()) return std::nullopt;
      if (failed != std::errc() || value > kMostRepeats) fail_(at_, fmt::format("more than {} repeats", kMostRepeats));
      return value;
    };
    const std::string_view low = inner.substr(0, comma);
    const std::string_view high = comma == std::string_view::npos ? low : inner.substr(comma + 1);
    const auto first = low.empty() ? std::optional<int64_t>(0) : count(low);
    const auto last = high.empty() ? std::optional<int64_t>(-1) : count(high);
    if (!first || !last || (low.empty() && high.empty()) || *first < 0 || *last < -1) return std::nullopt;
    if (*last >= 0 && *last < *first) fail_(at_, "the interval is empty");
    at_ = end + 1;
    if (comma == std::string_view::npos) return Interval{fmt::format("{{{}}}", *first), true};
    return Interval{*last < 0 ? fmt::format("{{{},}}", *first) : fmt::format("{{{},{}}}", *first, *last), false};
  }

  /// `modified`: a `?` behind it means as few as possible, and a `+` behind a sign that nothing is given back.
  void repeat(size_t from, const std::string& quantifier, bool modified) {
    if (!atom_) fail_(from, "there is nothing to repeat");
    if (repeated_) {
      out_.insert(*atom_, "(?:");
      out_ += ')';
    }
    out_ += quantifier;
    repeated_ = true;
    if (!modified) return;
    if (take("?"))
      out_ += '?';
    else if (quantifier[0] != '{' && take("+"))
      out_ += '+';
  }

  void open(size_t from) {
    if (groups_.size() >= kDeepestGroups) fail_(from, "groups are nested too deep");
    if (!take("?")) return begin_group(from, "(?:", false);
    if (take("#")) {
      const size_t end = expression_.find(')', at_);
      if (end == std::string_view::npos) fail_(from, "the comment has no end");
      at_ = end + 1;
      return;
    }
    for (const char* kind : {"<=", "<!", "=", "!"})
      if (take(kind)) return begin_group(from, fmt::format("(?{}", kind), true);
    for (const char* kind : {":", ">"})
      if (take(kind)) return begin_group(from, fmt::format("(?{}", kind), false);
    options(from);
  }

  void begin_group(size_t from, std::string_view text, bool looks) {
    groups_.push_back({from, out_.size(), looks});
    out_ += text;
    atom_.reset();
  }

  /// `(?i:...)`, or `(?i)`, which holds to the end of the group around it, its alternatives included.
  void options(size_t from) {
    std::string text = "(?";
    for (; at_ < expression_.size() && std::string_view("im-").find(expression_[at_]) != std::string_view::npos; ++at_)
      text += expression_[at_] == 'm' ? 's' : expression_[at_];
    if (take(":")) return begin_group(from, text + ":", false);
    if (!take(")") || text.size() == 2) fail_(from, "this kind of group is not supported");
    out_ += text + ":";
    ++(groups_.empty() ? open_options_ : groups_.back().options);
    atom_.reset();
  }

  void close(size_t from) {
    if (groups_.empty()) fail_(from, "no group was begun");
    const Group group = groups_.back();
    groups_.pop_back();
    out_.append(static_cast<size_t>(group.options) + 1, ')');
    atom_.reset();
    repeated_ = false;
    if (!group.looks) atom_ = group.begin;
  }

  std::string_view expression_;
  ClassReader::Fail fail_;
  size_t at_ = 0;
  ClassReader read_;
  std::string out_;
  std::vector<Group> groups_;
  int open_options_ = 0;        // groups that options opened in no other group
  std::optional<size_t> atom_;  // where what a quantifier repeats begins
  bool repeated_ = false;       // it has one already
};

}  // namespace

std::string pattern_for_pcre2(std::string_view expression, const std::string& where) {
  return Translation(expression, where).run();
}

}  // namespace tape::text
