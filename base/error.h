#pragma once

#include <cstddef>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace tape {

/// What kind of mistake an Error reports; the command turns it into its exit code.
enum class ErrorKind {
  shape,          ///< sizes or axes that do not fit together
  dtype,          ///< element types that differ or are not supported
  index,          ///< a position outside its range
  config,         ///< an option with a value that makes no sense
  graph,          ///< a misuse of the tape (backward twice, changed saved value, ...)
  format,         ///< a file whose content is malformed
  io,             ///< a file that cannot be read or written
  numeric,        ///< NaN or infinity where a number is needed
  out_of_memory,  ///< an allocation that was refused
};

std::string_view to_string(ErrorKind kind);  ///< "shape", "out_of_memory"
std::ostream& operator<<(std::ostream& stream, ErrorKind kind);

/// The one exception type of the library: every user error is thrown as this.
///
/// what() reads `module.path: operation: what is broken: argument shape, argument shape`. It has at most kMaxBytes
/// bytes, whatever a file puts into it: a longer message is cut between two characters and ends with
/// "... (1234 bytes more)".
class Error : public std::runtime_error {
 public:
  static constexpr size_t kMaxBytes = 2000;

  Error(ErrorKind kind, const std::string& message);

  ErrorKind kind() const noexcept { return kind_; }

  /// Path of the innermost module that was running (`decoder.layers.2.cross_attention`), or "".
  const std::string& module_path() const noexcept { return path_; }

  /// Puts the path of the module it passed through in front of the message, the first time only.
  void set_module_path(std::string_view path);

  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::string path_;
  std::string text_;
};

/// Throws an Error with a formatted message.
template <class... Args>
[[noreturn]] void raise(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// A bug in this library: throws std::logic_error with file and line.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace tape

/// Checks an invariant of our own code; active in every build type.
#define TAPE_ASSERT(condition) \
  (static_cast<bool>(condition) ? void(0) : ::tape::assertion_failed(#condition, __FILE__, __LINE__))
