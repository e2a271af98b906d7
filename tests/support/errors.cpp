#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace tape {

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
    ADD_FAILURE_AT(file, line) << text << "\n  threw another exception than tape::Error: " << error.what();
  }
}

}  // namespace tape
