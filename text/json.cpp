#include "text/json.h"

#include <concepts>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utf8.h"
#include "text/json_builder.h"

namespace tape {
namespace {

constexpr int64_t kMessageColumns = 300;

/// Rejects deep nesting and duplicate keys. Keys are tracked only for ordered objects; a sorted one finds duplicates
/// itself.
template <class Json>
class Checks {
 public:
  Checks(const std::string& where, int max_depth) : where_(where), max_depth_(static_cast<size_t>(max_depth)) {}

  void opens(size_t depth) {
    if (depth >= max_depth_) raise(ErrorKind::format, "{}: nested deeper than {}", where_, max_depth_);
    if constexpr (kOrdered) keys_.emplace_back();
  }
  void key(const std::string& name) {
    if constexpr (kOrdered)
      if (!keys_.back().insert(name).second) twice(name);
  }
  [[noreturn]] void twice(const std::string& name) const {
    raise(ErrorKind::format, "{}: duplicate key \"{}\"", where_, name);
  }
  void closes() {
    if constexpr (kOrdered) keys_.pop_back();
  }

 private:
  static constexpr bool kOrdered = std::same_as<Json, nlohmann::ordered_json>;

  const std::string& where_;
  size_t max_depth_;
  std::vector<std::unordered_set<std::string>> keys_;  // of each open object or list
};

template <class Json>
Json parse(const std::string& text, const std::string& where, int max_depth) {
  // nlohmann's messages begin with "[json.exception.parse_error.101] ".
  const auto without_number = [](std::string_view what) {
    const size_t end = what.starts_with("[json.") ? what.find("] ") : std::string_view::npos;
    return end == std::string_view::npos ? what : what.substr(end + 2);
  };
  try {
    JsonBuilder<Json, Checks<Json>> builder{Checks<Json>(where, max_depth)};
    Json::sax_parse(text, &builder);
    Json json = builder.take();
    if (!json.is_object()) raise(ErrorKind::format, "{}: not a JSON object", where);
    return json;
  } catch (const typename Json::exception& error) {
    // The message quotes the last token, which may be megabytes long.
    raise(ErrorKind::format, "{}: {}", where, clipped(without_number(error.what()), kMessageColumns));
  }
}

std::string dumped(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool needs_no_escape(const std::string& text) {
  unsigned char other = 0;  // without branches, so that compilers vectorize it
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    other |= static_cast<unsigned char>(code < 0x20 || code > 0x7e || code == '"' || code == '\\');
  }
  return other == 0;
}

/// nlohmann decodes UTF-8 byte by byte, which is most of the time for pages, where megabytes are base64.
void append_string(std::string& out, const std::string& text) {
  if (!needs_no_escape(text)) {
    out += dumped(text);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append_compact(std::string& out, const nlohmann::ordered_json& json) {
  char between = 0;
  const auto separate = [&] {
    if (between) out += between;
    between = ',';
  };
  if (json.is_object()) {
    out += '{';
    for (const auto& [name, value] : json.get_ref<const nlohmann::ordered_json::object_t&>()) {
      separate();
      append_string(out, name);
      out += ':';
      append_compact(out, value);
    }
    out += '}';
  } else if (json.is_array()) {
    out += '[';
    for (const nlohmann::ordered_json& value : json) {
      separate();
      append_compact(out, value);
    }
    out += ']';
  } else if (json.is_string()) {
    append_string(out, json.get_ref<const std::string&>());
  } else if (json.is_number_integer()) {
    out += json.is_number_unsigned() ? std::to_string(json.get<uint64_t>()) : std::to_string(json.get<int64_t>());
  } else {
    out += dumped(json);
  }
}

}  // namespace

nlohmann::ordered_json parse_json(const std::string& text, const std::string& where, int max_depth) {
  return parse<nlohmann::ordered_json>(text, where, max_depth);
}

nlohmann::json parse_large_json(const std::string& text, const std::string& where, int max_depth) {
  return parse<nlohmann::json>(text, where, max_depth);
}

void reserve_members(nlohmann::ordered_json& object, size_t count) {
  auto& members = object.get_ref<nlohmann::ordered_json::object_t&>();
  if (members.capacity() >= count) return;
  nlohmann::ordered_json::object_t roomy;
  roomy.reserve(count);
  for (auto& [name, value] : members) roomy.emplace(name, std::move(value));
  members = std::move(roomy);
}

std::string dump_json(const nlohmann::ordered_json& json, int indent) {
  if (indent >= 0) return dumped(json, indent);
  std::string text;
  append_compact(text, json);
  return text;
}

}  // namespace tape
