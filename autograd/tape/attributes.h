#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../shape.h"

namespace tape {

/// A non-tensor argument of an operation call: a flag, a number, a list of axes or sizes, or a string.
using AttributeValue = std::variant<bool, int64_t, double, std::vector<int64_t>, std::string>;
/// A named argument of a recorded call.
struct Attribute {
  const char* name;      ///< has static storage
  AttributeValue value;  ///< a copy of the argument
};

/// An attribute as passed to record(). It refers to the caller's value, so that nothing is copied unless the call is
/// recorded. An empty std::optional is not recorded.
struct AttributeRef {
  /// The caller's value; std::monostate if it is not recorded.
  using Value = std::variant<std::monostate, bool, int64_t, double, std::span<const int64_t>, std::string_view>;

  /// Name `n`, which must have static storage, and a value; lists and strings are not copied.
  /// @{
  template <std::same_as<bool> B>
  AttributeRef(const char* n, B flag) : name(n), value(flag) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  AttributeRef(const char* n, I number) : name(n), value(static_cast<int64_t>(number)) {}
  AttributeRef(const char* n, double number) : name(n), value(number) {}
  AttributeRef(const char* n, const std::vector<int64_t>& list) : name(n), value(std::span<const int64_t>(list)) {}
  AttributeRef(const char* n, const Shape& list)
      : name(n), value(std::span(list.begin(), static_cast<size_t>(list.rank()))) {}
  AttributeRef(const char* n, std::string_view text) : name(n), value(text) {}
  AttributeRef(const char* n, const std::optional<int64_t>& number) : name(n) {
    if (number) value = *number;
  }
  /// @}

  const char* name;  ///< has static storage
  Value value;       ///< refers to the caller's list or string
};

/// Attributes passed to record() as a list in braces: `{{"axis", axis}, {"descending", true}}`.
class AttributeList {
 public:
  AttributeList() = default;
  /// Refers to the caller's attributes, which must outlive it.
  /// @{
  AttributeList(std::initializer_list<AttributeRef> attributes) : size_(attributes.size()) {
    begin_ = attributes.begin();
  }
  explicit AttributeList(const std::vector<AttributeRef>& attributes)
      : begin_(attributes.data()), size_(attributes.size()) {}
  /// @}
  /// Read access as to a std::span.
  /// @{
  const AttributeRef* begin() const { return begin_; }
  const AttributeRef* end() const { return begin_ + size_; }
  size_t size() const { return size_; }
  /// @}

 private:
  const AttributeRef* begin_ = nullptr;
  size_t size_ = 0;
};

/// The attributes of a recorded call, in the order the operation passed them. A name has the same meaning in every
/// operation and follows PyTorch where possible; padding_id, for example, is a table row that gets no gradient.
class Attributes {
 public:
  Attributes() = default;
  /// Copies the values, except those that are not recorded.
  explicit Attributes(AttributeList list);

  /// The attribute with this name, or null.
  const AttributeValue* find(std::string_view name) const;
  /// The value of the attribute with this name and type, or nullopt.
  template <class T>
  std::optional<T> get(std::string_view name) const {
    const AttributeValue* value = find(name);
    const T* typed = value ? std::get_if<T>(value) : nullptr;
    return typed ? std::optional<T>(*typed) : std::nullopt;
  }

  /// Read access as to a std::span.
  /// @{
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  const Attribute* begin() const { return all_.data(); }
  const Attribute* end() const { return all_.data() + all_.size(); }
  /// @}

 private:
  std::vector<Attribute> all_;
};

/// "true", "2", "0.125", "[0, 2]" or the string.
std::string to_string(const AttributeValue& value);
/// "axis=1, descending=true", without flags that are false; "" for no attributes.
std::string to_string(const Attributes& attributes);

}  // namespace tape
