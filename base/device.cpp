#include "base/device.h"

#include <charconv>

#include "base/error.h"

namespace tape {

std::string to_string(Device device) {
  if (device.is_cpu()) return "cpu";
  return device.index() == 0 ? "cuda" : "cuda:" + std::to_string(device.index());
}

Device parse_device(std::string_view text) {
  constexpr std::string_view kPrefix = "cuda:";
  if (text == "cpu") return cpu;
  if (text == "cuda") return cuda;
  if (text.starts_with(kPrefix)) {
    const std::string_view digits = text.substr(kPrefix.size());
    int8_t index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size() && index >= 0) return cuda(index);
  }
  raise(ErrorKind::config, "device: expected cpu, cuda or cuda:N, got \"{}\"", text);
}

}  // namespace tape
