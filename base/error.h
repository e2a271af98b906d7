#pragma once

#include <array>
#include <cstddef>
#include <iosfwd>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "format.h"

namespace tape {

/// Category of an Error; the command-line tool maps it to an exit code.
enum class ErrorKind {
  shape,          ///< sizes or axes that do not match
  dtype,          ///< mismatched or unsupported element types
  index,          ///< an index out of range
  config,         ///< an invalid option value
  graph,          ///< misuse of the tape (backward twice, modified saved value, ...)
  format,         ///< malformed file content
  io,             ///< a file that cannot be read or written
  numeric,        ///< NaN or infinity where a finite value is required
  out_of_memory,  ///< a failed allocation
  device,         ///< a GPU that is missing, does not fit or failed; tensors on different devices
};

std::string_view to_string(ErrorKind kind);                      ///< "shape", "out_of_memory"
std::ostream& operator<<(std::ostream& stream, ErrorKind kind);  ///< writes to_string()

/// The library's only exception type for user errors.
///
/// what() reads `module.path: operation: what is wrong: argument shape, argument shape`. It has at most kMaxBytes
/// bytes, however long the text quoted from a file: a longer message is cut at a character boundary and ends with
/// "... (1234 more bytes)".
class Error : public std::runtime_error {
 public:
  static constexpr size_t kMaxBytes = 2000;  ///< maximum length of what()

  /// `message` is what() without the module path; raise() formats it.
  Error(ErrorKind kind, const std::string& message);

  ErrorKind kind() const noexcept { return kind_; }  ///< its category

  /// Path of the innermost module that was running (`decoder.layers.2.cross_attention`), or "" if none was.
  const std::string& module_path() const noexcept { return path_; }

  /// Prefixes the message with a module path. Only the first call has an effect.
  void set_module_path(std::string_view path);

  /// The module path, if any, and the message.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::string path_;
  std::string text_;
};

/// Throws an Error with a formatted message. `format` is a format string of fmt, with `{}` for each argument.
[[noreturn]] void raise_formatted(ErrorKind kind, std::string_view format, std::span<const FormatArgument> arguments);

/// raise_formatted() for any number of arguments; the compiler checks the format string.
template <class... Args>
[[noreturn]] void raise(ErrorKind kind, FormatString<std::type_identity_t<Args>...> format, const Args&... arguments) {
  raise_formatted(kind, format.text(), std::array<FormatArgument, sizeof...(Args)>{arguments...});
}

/// Reports a bug in the library: throws std::logic_error with file and line.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace tape

/// Checks an internal invariant, in every build type.
#define TAPE_ASSERT(condition) \
  (static_cast<bool>(condition) ? void(0) : ::tape::assertion_failed(#condition, __FILE__, __LINE__))
