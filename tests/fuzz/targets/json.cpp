#include "text/json.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/utf8.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

namespace {

/// As deep as no text that is fuzzed.
class NoChecks : public JsonChecks {
 public:
  void opens(size_t depth) override {
    if (depth > 1000) throw TooDeep();
  }
  void key(const std::string&) override {}
  void closes() override {}
  [[noreturn]] void invalid(size_t) override { throw Invalid(); }
  [[noreturn]] void out_of_range() override { throw Invalid(); }

  struct TooDeep {};
  struct Invalid {};
};

/// The parser of base/ accepts the same texts as nlohmann's, except a byte order mark and a zero byte, at which the
/// other ends, and reads the same values.
void compare_small_parser(const std::string& text) {
  if (!valid_utf8(text) || text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string::npos) return;
  std::optional<JsonValue> value;
  try {
    NoChecks checks;
    value = parse_json_value(text, checks);
  } catch (const NoChecks::Invalid&) {
  } catch (const NoChecks::TooDeep&) {
    return;
  }
  expect(value.has_value() == nlohmann::json::accept(text), "only one parser accepts the text");
  if (value)
    expect(nlohmann::json::parse(value->dump()) == nlohmann::json::parse(text), "the parsers read different values");
}

}  // namespace

/// Both parsers accept the same texts, and the values round-trip.
void fuzz_json(Bytes bytes) {
  const std::string text(text_of(bytes));
  compare_small_parser(text);
  const auto ordered = accepted([&] { return parse_json(text, "file"); });
  const auto sorted = accepted([&] { return parse_large_json(text, "file"); });
  expect(ordered.has_value() == sorted.has_value(), "only one parser rejects the text");
  if (!ordered) return;
  const auto again = parse_json(ordered->dump(), "written output");
  expect(again.dump() == ordered->dump(), "the written value differs");
  expect(parse_large_json(ordered->dump(), "written output") == *sorted, "the parsers read different values");
}

}  // namespace tape::fuzz
