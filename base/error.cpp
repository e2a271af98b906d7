#include "base/error.h"

namespace tape {

void assertion_failed(const char* condition, const char* file, int line) {
  throw std::logic_error(fmt::format("{}:{}: internal check failed: {}", file, line, condition));
}

}  // namespace tape
