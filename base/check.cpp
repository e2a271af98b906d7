#include "base/check.h"

#include "base/error.h"

namespace tape {

void check_at_least_one(std::string_view owner, std::initializer_list<std::pair<const char*, int64_t>> values) {
  for (const auto& [name, value] : values)
    if (value < 1) raise(ErrorKind::config, "{}: {} must be at least 1, got {}", owner, name, value);
}

int64_t at_least_one(std::string_view owner, const char* name, int64_t value) {
  check_at_least_one(owner, {{name, value}});
  return value;
}

}  // namespace tape
