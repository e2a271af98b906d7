#include "base/json.h"

#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// Both parsers accept the same texts, and the values round-trip.
void fuzz_json(Bytes bytes) {
  const std::string text(text_of(bytes));
  const auto ordered = accepted([&] { return parse_json(text, "file"); });
  const auto sorted = accepted([&] { return parse_large_json(text, "file"); });
  expect(ordered.has_value() == sorted.has_value(), "only one parser rejects the text");
  if (!ordered) return;
  const auto again = parse_json(ordered->dump(), "written output");
  expect(again.dump() == ordered->dump(), "the written value differs");
  expect(parse_large_json(ordered->dump(), "written output") == *sorted, "the parsers read different values");
}

}  // namespace tape::fuzz
