#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

// What is read, looked at with any bytes at all. A target reads them as one kind of input and holds what was promised
// of it against what came: libFuzzer calls it with bytes that it makes up (libfuzzer.cpp), the tests with those of
// corpus/ (replay.cpp). Whatever leaves a target is a finding.
namespace tape::fuzz {

using Bytes = std::span<const std::byte>;

struct Target {
  std::string_view name;  ///< of its function without "fuzz_", and of its folder in corpus/
  void (*function)(Bytes);

  void run(Bytes input) const;
};

/// All of them.
std::span<const Target> targets();
/// Throws std::invalid_argument, naming those that there are.
const Target& target(std::string_view name);

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// A promise that was not kept.
class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <class... Args>
void expect(bool holds, fmt::format_string<Args...> promise, Args&&... args) {
  if (!holds) throw Broken(fmt::format(promise, std::forward<Args>(args)...));
}

/// What a message of the library must look like: it is there, in our words, and no longer than what was read.
void expect_good_message(const Error& error);

/// What was not refused so far: a target that takes none of its corpus holds nothing against anything.
int64_t& taken();

/// What `read` gives; nothing where it refuses the input, which it may do by an Error and by nothing else.
template <class Read>
auto unless_refused(Read&& read) -> std::optional<decltype(read())> {
  try {
    std::optional<decltype(read())> result = read();
    ++taken();
    return result;
  } catch (const Error& error) {
    expect_good_message(error);
    return std::nullopt;
  }
}

/// The same for what gives nothing: whether it was not refused.
template <std::invocable Read>
  requires std::same_as<std::invoke_result_t<Read>, void>
bool unless_refused(Read&& read) {
  return unless_refused([&] {
           read();
           return true;
         })
      .has_value();
}

/// Parts of an input that stand for several files: what lies between lines that hold "%%" and nothing else.
std::vector<std::string_view> parts_of(Bytes bytes);

/// An empty folder of this process, in memory where the system has that.
const std::string& empty_folder();
/// Makes a file in it; returns its path.
std::string put_file(const std::string& path, std::string_view content);

}  // namespace tape::fuzz
