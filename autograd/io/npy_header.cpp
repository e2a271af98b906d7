#include "autograd/io/npy_header.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace tape::detail {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMaxHeader = 65535;

/// NumPy's type strings in the order of DType: byte order, kind and bytes.
const char* description_of(DType dtype) {
  constexpr const char* names[] = {"|b1", "|u1", "<i4", "<i8", "<f2", "<V2", "<f4", "<f8"};
  return names[static_cast<size_t>(dtype)];
}

/// Parses a header's Python dictionary: strings, True and False, and tuples of integers.
class HeaderParser {
 public:
  HeaderParser(const std::string& where, std::string_view text) : where_(where), rest_(text) {}

  NpyHeader parse() {
    expect("{");
    while (!take("}")) {
      const std::string_view key = string();
      expect(":");
      if (key == "descr")
        set(descr_, key, description());
      else if (key == "fortran_order")
        set(fortran_, key, truth());
      else if (key == "shape")
        set(shape_, key, shape());
      else
        fail("unknown key \"{}\"", printable(key));
      if (!take(",")) {
        expect("}");
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) fail("{} bytes after the dictionary", rest_.size());
    if (!descr_ || !fortran_ || !shape_)
      fail("{} is missing", !descr_ ? "descr" : !fortran_ ? "fortran_order" : "shape");
    NpyHeader header;
    header.shape = *shape_;
    header.fortran_order = *fortran_;
    read_type(header);
    return header;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    raise(ErrorKind::format, "{}: header: {}", where_, fmt::format(format, std::forward<Args>(args)...));
  }

  static std::string printable(std::string_view text) {
    std::string shown;
    for (const char letter : text.substr(0, 40)) shown += letter >= ' ' && letter <= '~' ? letter : '?';
    return shown;
  }

  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t' || rest_[0] == '\r'))
      rest_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail("expected '{}', found \"{}\"", word, printable(rest_));
  }

  template <class T>
  void set(std::optional<T>& field, std::string_view key, const T& value) const {
    if (field) fail("{} appears twice", key);
    field = value;
  }

  std::string_view string() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("expected a string, found \"{}\"", printable(rest_));
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string_view description() {
    if (take("["))
      raise(ErrorKind::dtype, "{}: header: structured arrays are not supported: descr is a list of fields", where_);
    return string();
  }

  bool truth() {
    if (take("True")) return true;
    expect("False");
    return false;
  }

  Shape shape() {
    expect("(");
    std::vector<int64_t> sizes;
    while (!take(")")) {
      sizes.push_back(size());
      if (std::ssize(sizes) > Shape::kMaxRank) fail("shape has more than {} axes", Shape::kMaxRank);
      if (!take(",")) {
        expect(")");
        break;
      }
    }
    try {
      return Shape(sizes);
    } catch (const Error&) {
      fail("shape ({}) overflows", fmt::join(sizes, ", "));
    }
  }

  int64_t size() {
    skip_blanks();
    int64_t value = 0;
    size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, rest_[digits] - '0', &value))
        fail("shape contains \"{}\", which is not a size", printable(rest_));
    if (digits == 0) fail("shape contains \"{}\", which is not a size", printable(rest_));
    rest_.remove_prefix(digits);
    return value;
  }

  /// Parses a byte order, a kind letter and a number of bytes.
  void read_type(NpyHeader& header) const {
    const std::string_view descr = *descr_;
    if (descr == "|O" || descr == "O")
      raise(ErrorKind::dtype, "{}: header: arrays of Python objects are pickles, which can run code, and are not read",
            where_);
    constexpr std::string_view known[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "V2"};
    const char order = descr.empty() ? '\0' : descr[0];
    const std::string_view type = descr.substr(descr.empty() ? 0 : 1);
    bool found = order == '<' || order == '>' || order == '|' || order == '=';
    found = found && std::find(std::begin(known), std::end(known), type) != std::end(known);
    if (!found)
      raise(ErrorKind::dtype,
            "{}: header: descr \"{}\" is not supported (f2, f4, f8, i1 to i8, u1 to u8, b1 and V2 are)", where_,
            printable(descr));
    header.kind = type[0];
    header.element = type[1] - '0';
    header.swapped = order == '>' && header.element > 1;
  }

  const std::string& where_;
  std::string_view rest_;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_;
  std::optional<Shape> shape_;
};

/// Size of the length field that follows the version.
int64_t length_bytes(std::string_view prefix) { return prefix[6] == 1 ? 2 : 4; }

}  // namespace

int64_t npy_header_bytes(const std::string& where, std::string_view prefix, int64_t size) {
  if (prefix.substr(0, kMagic.size()) != kMagic.substr(0, std::min(prefix.size(), kMagic.size())))
    raise(ErrorKind::format, "{}: not a .npy file: it does not begin with \\x93NUMPY", where);
  if (prefix.size() < kMagic.size() + 4) raise(ErrorKind::format, "{}: header too small ({} bytes)", where, size);
  if (prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0)
    raise(ErrorKind::format, "{}: format version {}.{} is not supported (1.0, 2.0 and 3.0 are)", where,
          static_cast<unsigned char>(prefix[6]), static_cast<unsigned char>(prefix[7]));
  const int64_t start = 8 + length_bytes(prefix);
  if (std::ssize(prefix) < start) raise(ErrorKind::format, "{}: header too small ({} bytes)", where, size);
  uint32_t length = 0;
  std::memcpy(&length, prefix.data() + 8, static_cast<size_t>(length_bytes(prefix)));
  if (length > kMaxHeader || length > size - start)
    raise(ErrorKind::format, "{}: header length {}, but the file has {} bytes (and a header at most {})", where, length,
          size, kMaxHeader);
  return start + length;
}

NpyHeader parse_npy_header(const std::string& where, std::string_view bytes) {
  NpyHeader header = HeaderParser(where, bytes.substr(static_cast<size_t>(8 + length_bytes(bytes)))).parse();
  header.data = std::ssize(bytes);
  return header;
}

std::string make_npy_header(DType dtype, const Shape& shape) {
  std::string sizes;
  for (const int64_t size : shape) sizes += fmt::format("{}, ", size);
  // A tuple with one element is written (3,); NumPy also accepts (3, ).
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", description_of(dtype), sizes);
  const size_t before = kMagic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  const auto length = static_cast<uint16_t>(text.size());
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  header.append(reinterpret_cast<const char*>(&length), sizeof length);
  return header + text;
}

}  // namespace tape::detail
