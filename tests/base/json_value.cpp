#include "base/json_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tape {
namespace {

using Array = JsonValue::Array;
using Object = JsonValue::Object;

/// Reports what parsing calls as exceptions.
class Checks : public JsonChecks {
 public:
  void opens(size_t depth) override {
    if (depth >= 64) throw std::runtime_error("too deep");
  }
  void key(const std::string& name) override { keys += name; }
  void closes() override { keys += '.'; }
  [[noreturn]] void invalid(size_t at) override { throw std::runtime_error(fmt::format("at {}", at)); }
  [[noreturn]] void out_of_range() override { throw std::runtime_error("out of range"); }

  std::string keys;
};

JsonValue parsed(std::string_view text) {
  Checks checks;
  return parse_json_value(text, checks);
}

std::string problem_of(std::string_view text) {
  try {
    return "none: " + parsed(text).dump();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(JsonValue, ReadsAndWritesWhatTheOtherParserDoes) {
  for (const char* text : {"null",
                           " true ",
                           "false",
                           "0",
                           "-0",
                           "7",
                           "-7",
                           "18446744073709551615",
                           "18446744073709551616",
                           "-9223372036854775808",
                           "-9223372036854775809",
                           "0.5",
                           "-2.5e-3",
                           "1E+2",
                           "1e15",
                           "1e16",
                           "1e-5",
                           "100000.0",
                           "\"\"",
                           R"("a\"\\\/\b\f\n\r\t")",
                           R"("\u00e4\ud83d\ude00\u0001")",
                           "\"ä\x7f\"",
                           "[]",
                           "[1, [2,[]] ]",
                           "{}",
                           R"({"b" : 1,"a":{"c":[null]}})",
                           " [\t1\r\n]"}) {
    const JsonValue value = parsed(text);
    const auto other = nlohmann::ordered_json::parse(text);
    EXPECT_EQ(value.dump(), other.dump()) << text;
    EXPECT_EQ(value.dump(2), other.dump(2)) << text;
    EXPECT_STREQ(value.type_name(), other.type_name()) << text;
    EXPECT_EQ(value.get_if<uint64_t>() != nullptr, other.is_number_unsigned()) << text;
  }
}

TEST(JsonValue, NamesThePlaceWhereATextIsNotJson) {
  for (const auto& [text, at] : std::initializer_list<std::pair<const char*, int>>{{"", 0},
                                                                                   {" ", 1},
                                                                                   {"nul", 3},
                                                                                   {"nulx", 3},
                                                                                   {"tru}", 3},
                                                                                   {"01", 1},
                                                                                   {"-", 1},
                                                                                   {"-x", 1},
                                                                                   {"1.", 2},
                                                                                   {"1.e1", 2},
                                                                                   {"1e", 2},
                                                                                   {"1e+", 3},
                                                                                   {"+1", 0},
                                                                                   {".5", 0},
                                                                                   {"\"a", 2},
                                                                                   {"\"\\x\"", 2},
                                                                                   {"\"\\u12g4\"", 5},
                                                                                   {"\"\n\"", 1},
                                                                                   {"[1", 2},
                                                                                   {"[1,", 3},
                                                                                   {"[1,]", 3},
                                                                                   {"[1 2]", 3},
                                                                                   {"{", 1},
                                                                                   {"{1:2}", 1},
                                                                                   {"{\"a\"}", 4},
                                                                                   {"{\"a\":}", 5},
                                                                                   {"{\"a\":1,}", 7},
                                                                                   {"{} x", 3},
                                                                                   {"[]]", 2},
                                                                                   {"\"\\ud800\"", 7},
                                                                                   {"\"\\ud800\\n\"", 8},
                                                                                   {"\"\\ud800\\u0041\"", 7},
                                                                                   {"\"\\udc00\"", 6},
                                                                                   {"'a'", 0}}) {
    EXPECT_EQ(problem_of(text), fmt::format("at {}", at)) << text;
    EXPECT_FALSE(nlohmann::json::accept(text)) << text;
  }
}

TEST(JsonValue, ReportsNumbersThatAreTooLarge) {
  EXPECT_EQ(problem_of("[1e999]"), "out of range");
  EXPECT_EQ(problem_of("-1e999"), "out of range");
}

TEST(JsonValue, CallsTheChecks) {
  Checks checks;
  parse_json_value(R"({"a": [1, {"b": 2}], "c": 3})", checks);
  EXPECT_EQ(checks.keys, "ab..c.");
  EXPECT_EQ(problem_of(std::string(64, '[') + std::string(64, ']')).substr(0, 6), "none: ");
  EXPECT_EQ(problem_of(std::string(65, '[')), "too deep");
}

TEST(JsonValue, WritesNonFiniteNumbersAsNullAndInvalidBytesReplaced) {
  EXPECT_EQ(JsonValue(Array{NAN, -INFINITY, "a\xff"}).dump(), "[null,null,\"a\uFFFD\"]");
}

TEST(JsonValue, HasAValueOfOneType) {
  EXPECT_TRUE(JsonValue().is_null());
  EXPECT_EQ(*JsonValue(3).get_if<int64_t>(), 3);
  EXPECT_EQ(*JsonValue(size_t{3}).get_if<uint64_t>(), 3u);
  EXPECT_TRUE(*JsonValue(true).get_if<bool>());
  EXPECT_EQ(JsonValue("x").get_if<double>(), nullptr);
  EXPECT_EQ(JsonValue(Object{{"a", 1}, {"b", Array{}}}).dump(), R"({"a":1,"b":[]})");
}

}  // namespace
}  // namespace tape
