#include "tests/support/errors.h"

#include <ostream>

#include <gtest/gtest.h>

namespace tape {

namespace {

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::shape:
      return "shape";
    case ErrorKind::dtype:
      return "dtype";
    case ErrorKind::index:
      return "index";
    case ErrorKind::config:
      return "config";
    case ErrorKind::graph:
      return "graph";
    case ErrorKind::format:
      return "format";
    case ErrorKind::io:
      return "io";
    case ErrorKind::numeric:
      return "numeric";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
  }
  return "?";
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, ErrorKind kind) { return stream << kind_name(kind); }

void expect_tape_error(const std::function<void()>& call, ErrorKind kind, const std::string& sentence, const char* text,
                       const char* file, int line) {
  try {
    call();
    ADD_FAILURE_AT(file, line) << text << " threw nothing; expected\n  " << sentence;
  } catch (const Error& error) {
    if (error.kind() != kind || sentence != error.what())
      ADD_FAILURE_AT(file, line) << text << "\n  threw (" << error.kind() << ") " << error.what() << "\n  expected ("
                                 << kind << ") " << sentence;
  } catch (const std::exception& error) {
    ADD_FAILURE_AT(file, line) << text << "\n  threw no tape::Error but " << error.what();
  }
}

}  // namespace tape
