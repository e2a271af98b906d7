#include "autograd/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include "base/error.h"
#include "base/json_value.h"
#include "base/utf8.h"

namespace tape::detail {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxTensors = 100'000;
constexpr int64_t kHeaderStart = 8;
constexpr std::string_view kMetadata = "__metadata__";

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array<TypeName, 8> kTypes{{{"F64", f64},
                                          {"F32", f32},
                                          {"F16", f16},
                                          {"BF16", bf16},
                                          {"I64", i64},
                                          {"I32", i32},
                                          {"U8", u8},
                                          {"BOOL", boolean}}};
constexpr std::array<std::string_view, 12> kUnreadTypes{"F8_E4M3", "F8_E5M2", "F8_E8M0", "F6_E2M3", "F6_E3M2", "F4",
                                                        "C64",     "I8",      "I16",     "U16",     "U32",     "U64"};

/// Checks what the JSON parser accepts in a header: nesting depth, duplicate keys, number of tensors.
class HeaderChecks : public JsonChecks {
 public:
  explicit HeaderChecks(const std::string& path) : path_(path) {}

  void opens(size_t depth) override {
    if (depth >= kMaxDepth)
      raise(ErrorKind::format, "{}: the header is nested deeper than {} at key \"{}\"", path_, kMaxDepth, last_key_);
    keys_.emplace_back();
  }
  void key(const std::string& name) override {
    last_key_ = name;
    if (keys_.size() == 1) in_metadata_ = name == kMetadata;
    // Metadata is not interpreted: the last of two equal keys wins, as elsewhere.
    if (!keys_.back().insert(name).second && !(in_metadata_ && keys_.size() == 2))
      raise(ErrorKind::format, "{}: key \"{}\" appears twice", path_, name);
    if (keys_.size() == 1 && keys_.back().size() > kMaxTensors + 1)
      raise(ErrorKind::format, "{}: more than {} tensors, from \"{}\" on", path_, kMaxTensors, name);
  }
  void closes() override { keys_.pop_back(); }
  [[noreturn]] void invalid(size_t at) override {
    raise(ErrorKind::format, "{}: the header is not JSON at byte {}", path_, static_cast<int64_t>(at) + kHeaderStart);
  }
  [[noreturn]] void out_of_range() override {
    raise(ErrorKind::format, "{}: the header contains a number out of range", path_);
  }

 private:
  const std::string& path_;
  std::vector<std::set<std::string>> keys_;  // of the open objects
  std::string last_key_;
  bool in_metadata_ = false;
};

JsonValue parse_header(const std::string& path, std::string_view text) {
  if (text.front() != '{')
    raise(ErrorKind::format, "{}: the header must begin with '{{' (byte {}), found 0x{:02x}", path, kHeaderStart,
          static_cast<unsigned char>(text.front()));
  if (const auto bad = first_invalid_utf8(text))
    raise(ErrorKind::format, "{}: the header is not UTF-8 at byte {}", path, static_cast<int64_t>(*bad) + kHeaderStart);
  HeaderChecks checks(path);
  return parse_json_value(text, checks);
}

/// Parses one tensor's entry; every error names file and tensor.
class EntryReader {
 public:
  EntryReader(const std::string& path, const std::string& name, const JsonValue& entry)
      : path_(path), name_(name), entry_(entry) {}

  StoredTensor read(int64_t data_bytes) {
    if (!entry_.get_if<JsonValue::Object>()) fail("its entry must be an object, got {}", entry_.type_name());
    const TypeName& type = read_type();
    const Shape shape = read_shape();
    const auto [begin, end] = read_offsets();
    const int64_t bytes = shape.numel() * size_of(type.dtype);
    if (end < begin) fail("data_offsets [{}, {}] are out of order", begin, end);
    if (static_cast<uint64_t>(bytes) != end - begin)
      fail("data_offsets [{}, {}] span {} bytes, shape {} of {} needs {}", begin, end, end - begin, to_string(shape),
           type.name, bytes);
    if (end > static_cast<uint64_t>(data_bytes))
      fail("data_offsets [{}, {}] reach past the end, the file has {} bytes of data", begin, end, data_bytes);
    return {name_, type.dtype, shape, static_cast<int64_t>(begin), static_cast<int64_t>(end)};
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    raise(ErrorKind::format, "{}: tensor \"{}\": {}", path_, name_, fmt::format(format, std::forward<Args>(args)...));
  }

  const JsonValue& field(const char* key) const {
    for (const auto& [name, value] : *entry_.get_if<JsonValue::Object>())
      if (name == key) return value;
    fail("{} is missing", key);
  }

  const TypeName& read_type() const {
    const JsonValue& value = field("dtype");
    const auto* const text = value.get_if<std::string>();
    if (!text) fail("dtype must be a string, got {}", value.type_name());
    const std::string& name = *text;
    for (const TypeName& type : kTypes)
      if (type.name == name) return type;
    if (std::find(kUnreadTypes.begin(), kUnreadTypes.end(), name) != kUnreadTypes.end())
      raise(ErrorKind::dtype,
            "{}: tensor \"{}\": dtype {} is not supported (F64, F32, F16, BF16, I64, I32, U8 and BOOL are)", path_,
            name_, name);
    fail("unknown dtype \"{}\"", name);
  }

  Shape read_shape() const {
    const JsonValue& value = field("shape");
    const auto* const list = value.get_if<JsonValue::Array>();
    if (!list) fail("shape must be a list, got {}", value.type_name());
    if (std::ssize(*list) > Shape::kMaxRank)
      fail("shape has {} axes, at most {} are supported", list->size(), Shape::kMaxRank);
    std::vector<int64_t> sizes;
    for (const JsonValue& element : *list) {
      const auto* const size = element.get_if<uint64_t>();
      if (!size || *size > static_cast<uint64_t>(INT64_MAX))
        fail("shape {} contains {}, which is not a size", value.dump(), element.dump());
      sizes.push_back(static_cast<int64_t>(*size));
    }
    try {
      return Shape(sizes);
    } catch (const Error&) {
      fail("shape {} overflows", value.dump());
    }
  }

  std::pair<uint64_t, uint64_t> read_offsets() const {
    const JsonValue& value = field("data_offsets");
    const auto* const list = value.get_if<JsonValue::Array>();
    const auto* const begin = list && list->size() == 2 ? list->front().get_if<uint64_t>() : nullptr;
    const auto* const end = begin ? list->back().get_if<uint64_t>() : nullptr;
    if (!end) fail("data_offsets must be two integers, found {}", value.dump());
    return {*begin, *end};
  }

  const std::string& path_;
  const std::string& name_;
  const JsonValue& entry_;
};

std::map<std::string, std::string> read_metadata(const std::string& path, const JsonValue& value) {
  if (value.is_null()) return {};
  const auto* const members = value.get_if<JsonValue::Object>();
  if (!members) raise(ErrorKind::format, "{}: __metadata__ must be an object, got {}", path, value.type_name());
  std::map<std::string, std::string> metadata;
  for (const auto& [key, member] : *members) {
    const auto* const text = member.get_if<std::string>();
    if (!text)
      raise(ErrorKind::format, "{}: __metadata__: the value of \"{}\" must be a string, got {}", path, key,
            member.type_name());
    metadata[key] = *text;
  }
  return metadata;
}

/// Tensors must cover the data without gaps or overlaps.
void check_cover(const std::string& path, const std::vector<StoredTensor>& tensors, int64_t data_bytes) {
  int64_t covered = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const StoredTensor& tensor = tensors[i];
    if (tensor.begin < covered)
      raise(ErrorKind::format, "{}: tensor \"{}\": data_offsets [{}, {}] overlap those of \"{}\" [{}, {}]", path,
            tensor.name, tensor.begin, tensor.end, tensors[i - 1].name, tensors[i - 1].begin, tensors[i - 1].end);
    if (tensor.begin > covered)
      raise(ErrorKind::format, "{}: tensor \"{}\": data_offsets [{}, {}] leave a gap from byte {}", path, tensor.name,
            tensor.begin, tensor.end, covered);
    covered = tensor.end;
  }
  if (covered < data_bytes)
    raise(ErrorKind::format, "{}: {} trailing bytes: the tensors end at {}, the data at {}", path, data_bytes - covered,
          covered, data_bytes);
}

}  // namespace

std::string_view stored_name(DType dtype) {
  return std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& type) { return type.dtype == dtype; })->name;
}

SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view text, int64_t data_bytes) {
  const JsonValue parsed = parse_header(path, text);
  SafetensorsHeader header;
  for (const auto& [name, entry] : *parsed.get_if<JsonValue::Object>()) {
    if (name == kMetadata) {
      header.metadata = read_metadata(path, entry);
    } else {
      header.tensors.push_back(EntryReader(path, name, entry).read(data_bytes));
    }
  }
  if (header.tensors.size() > kMaxTensors)
    raise(ErrorKind::format, "{}: {} tensors, at most {} are supported", path, header.tensors.size(), kMaxTensors);
  std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_cover(path, header.tensors, data_bytes);
  return header;
}

}  // namespace tape::detail
