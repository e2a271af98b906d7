#include "base/json.h"

#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// Both parsers take the same texts, and what they read is the same when it is written and read again.
void fuzz_json(Bytes bytes) {
  const std::string text(text_of(bytes));
  const auto ordered = unless_refused([&] { return parse_json(text, "file"); });
  const auto sorted = unless_refused([&] { return parse_large_json(text, "file"); });
  expect(ordered.has_value() == sorted.has_value(), "one parser refuses what the other takes");
  if (!ordered) return;
  const auto again = parse_json(ordered->dump(), "what was written");
  expect(again.dump() == ordered->dump(), "what was written reads as another value");
  expect(parse_large_json(ordered->dump(), "what was written") == *sorted, "the parsers read different values");
}

}  // namespace tape::fuzz
