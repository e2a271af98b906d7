#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace tape {

void expect_tape_error(const std::function<void()>& call, ErrorKind kind, const std::string& sentence, const char* text,
                       const char* file, int line);

/// Checks that an expression throws tape::Error of this kind with exactly this message.
#define EXPECT_TAPE_ERROR(expression, kind, sentence) \
  ::tape::expect_tape_error([&] { static_cast<void>(expression); }, (kind), (sentence), #expression, __FILE__, __LINE__)

}  // namespace tape
