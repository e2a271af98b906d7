#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "base/non_copyable.h"

namespace tape::cuda_device {

/// Sets an environment variable, or removes it, while in scope.
class EnvironmentVariable : NonCopyable {
 public:
  EnvironmentVariable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~EnvironmentVariable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) const {
    if (value)
      setenv(name_, value->c_str(), 1);
    else
      unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace tape::cuda_device
