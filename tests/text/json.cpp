#include "text/json.h"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/growth.h"

namespace tape {
namespace {

TEST(ParseJson, KeepsTheOrderOfKeys) {
  const auto json = parse_json(R"({"b": 1, "a": [2, {"c": null}]})", "file");
  EXPECT_EQ(json.dump(), R"({"b":1,"a":[2,{"c":null}]})");
  EXPECT_EQ(parse_large_json(R"({"b": 1, "a": 2})", "file").dump(), R"({"a":2,"b":1})");
}

TEST(ParseJson, RefusesDuplicateKeysAtAnyDepth) {
  EXPECT_TAPE_ERROR(parse_json(R"({"a": 1, "a": 2})", "file"), ErrorKind::format, "file: duplicate key \"a\"");
  EXPECT_TAPE_ERROR(parse_json(R"({"x": [{"a": 1}, {"b": {"c": 1, "c": 2}}]})", "file"), ErrorKind::format,
                    "file: duplicate key \"c\"");
  EXPECT_NO_THROW(parse_json(R"({"x": [{"a": 1}, {"a": 2}], "a": {"a": {}}})", "file"));
  EXPECT_TAPE_ERROR(parse_large_json(R"({"a": {"b": 1, "b": 2}})", "file"), ErrorKind::format,
                    "file: duplicate key \"b\"");
}

TEST(ParseJson, LimitsTheNestingDepth) {
  EXPECT_NO_THROW(parse_json(R"({"a": [1]})", "file", 2));
  EXPECT_TAPE_ERROR(parse_json(R"({"a": [[1]]})", "file", 1), ErrorKind::format, "file: nested deeper than 1");
  EXPECT_TAPE_ERROR(parse_json("{\"a\":" + std::string(1'000'000, '['), "file"), ErrorKind::format,
                    "file: nested deeper than 8");
}

TEST(ParseJson, TakesTimeProportionalToTheNumberOfEntries) {
  expect_almost_linear(2000, [](size_t entries) {
    std::string object = "{\"-1\": 0", list = "{\"list\": [{}";
    for (size_t i = 0; i < entries; ++i) {
      object += fmt::format(", \"{}\": {{}}", i);
      list += ", {}";
    }
    EXPECT_EQ(parse_json(object + "}", "file").size(), entries + 1);
    EXPECT_EQ(parse_large_json(object + "}", "file").size(), entries + 1);
    EXPECT_EQ(parse_large_json(list + "]}", "file").at("list").size(), entries + 1);
  });
}

TEST(ParseJson, ReadsValuesOfEveryKind) {
  const std::string text =
      R"({"a":[null,true,-1,18446744073709551615,1.5,"x",[],{}],"b":{"c":{"d":[[1],[2,{"e":"f"}]]}}})";
  EXPECT_EQ(parse_json(text, "file").dump(), text);
  EXPECT_EQ(parse_large_json(text, "file").dump(), text);
}

TEST(ParseJson, RefusesAnythingButAnObject) {
  EXPECT_TAPE_ERROR(parse_json("[1]", "file"), ErrorKind::format, "file: not a JSON object");
  for (const char* text : {"", "{", "{\"a\": 01}", "{\"a\": \"\xFF\"}", "{} {}"})
    EXPECT_THROW(parse_json(text, "file"), Error) << text;
}

TEST(DumpJson, WritesWhatNlohmannWrites) {
  using Json = nlohmann::ordered_json;
  Json json{{"plain", "aZ09+/=~ "}, {"quo\"te", "back\\slash\n"}, {"Ä", "\x01\x7f \u2028 \xff"}, {"empty", ""}};
  json["numbers"] = {0, -1, INT64_MIN, UINT64_MAX, 1.5, 1e-300, 0.1f, -0.0, std::nan(""), true, nullptr};
  json["nested"] = {{"list", Json::array()}, {"object", Json::object()}, {"in", {{"it", {1, {2, {"3"}}}}}}};
  for (const int indent : {-1, 0, 2})
    EXPECT_EQ(dump_json(json, indent), json.dump(indent, ' ', false, Json::error_handler_t::replace));
  for (const Json& value : {Json("text"), Json(nullptr), Json(7), Json::array(), Json::object()})
    EXPECT_EQ(dump_json(value), value.dump());
}

TEST(ReserveMembers, KeepsTheMembersWithoutCopyingThemAsOthersAreAdded) {
  nlohmann::ordered_json json{{"b", std::string(100, 'x')}, {"a", 1}};
  const char* const place = json["b"].get_ref<const std::string&>().data();
  reserve_members(json, 10);
  for (const char* name : {"c", "d", "e", "f", "g", "h", "i", "j"}) json[name] = name;
  EXPECT_EQ(json["b"].get_ref<const std::string&>().data(), place);
  reserve_members(json, 3);
  EXPECT_EQ(json.size(), 10u);
  EXPECT_EQ(json.begin().key(), "b");
  EXPECT_EQ(json["a"], 1);
}

}  // namespace
}  // namespace tape
