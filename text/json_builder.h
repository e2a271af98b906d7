#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tape {

/// SAX handler that builds a JSON value during Json::sax_parse and calls `checks`, whose functions may throw:
///   checks.opens(depth)   an object or list begins inside `depth` others
///   checks.key(name)      a key of the innermost object
///   checks.twice(name)    a duplicate key of a sorted object (only if `checks` has this function); must throw
///   checks.closes()       an object or list ends
/// Json::parse with a callback does the same, but rescans the parent each time a nested object ends: 40,000 entries
/// took half a minute.
template <class Json, class Checks>
class JsonBuilder {
 public:
  explicit JsonBuilder(Checks checks) : checks_(std::move(checks)) {}

  Json take() { return std::move(root_); }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(typename Json::number_integer_t value) { return put(value); }
  bool number_unsigned(typename Json::number_unsigned_t value) { return put(value); }
  bool number_float(typename Json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(typename Json::binary_t& value) { return put(std::move(value)); }
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool key(std::string& name) {
    checks_.key(name);
    key_ = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  template <class Exception>
  [[noreturn]] bool parse_error(size_t, const std::string&, const Exception& error) {
    throw error;
  }

 private:
  template <class Value>
  bool put(Value&& value) {
    place(Json(std::forward<Value>(value)));
    return true;
  }
  bool open(Json empty) {
    checks_.opens(open_.size());
    open_.push_back(place(std::move(empty)));
    return true;
  }
  bool close() {
    checks_.closes();
    open_.pop_back();
    return true;
  }
  /// The current key's value stays at this address while its parent is open: a growing list moves only closed values.
  Json* place(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    auto& object = open_.back()->template get_ref<typename Json::object_t&>();
    if constexpr (requires { object.emplace_back(key_, value); }) {  // ordered: operator[] would search all keys
      return &object.emplace_back(std::move(key_), std::move(value)).second;
    } else {
      const auto [entry, is_new] = object.insert_or_assign(std::move(key_), std::move(value));
      if constexpr (requires { checks_.twice(key_); })
        if (!is_new) checks_.twice(entry->first);
      return &entry->second;
    }
  }

  Checks checks_;
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace tape
