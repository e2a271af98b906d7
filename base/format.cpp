#include "base/format.h"

#include <stdexcept>

#include <fmt/args.h>
#include <fmt/format.h>

namespace tape {
namespace {

void append(fmt::dynamic_format_arg_store<fmt::format_context>& values, const FormatArgument& argument) {
  using enum FormatArgument::Kind;
  switch (argument.kind) {
    case boolean:
      return values.push_back(argument.unsigned_integer != 0);
    case character:
      return values.push_back(static_cast<char>(argument.unsigned_integer));
    case integer:
      return values.push_back(argument.integer);
    case unsigned_integer:
      return values.push_back(argument.unsigned_integer);
    case f32:
      return values.push_back(static_cast<float>(argument.real));
    case f64:
      return values.push_back(argument.real);
    case text:
      return values.push_back(argument.text);
    case pointer:
      return values.push_back(argument.pointer);
  }
}

}  // namespace

std::string format_text(std::string_view format, std::span<const FormatArgument> arguments) {
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  for (const FormatArgument& argument : arguments) append(values, argument);
  try {
    return fmt::vformat(format, values);
  } catch (const fmt::format_error& error) {
    throw std::logic_error(fmt::format("format string \"{}\": {}", format, error.what()));
  }
}

}  // namespace tape
