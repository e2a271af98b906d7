#include "autograd/number.h"

#include <fmt/format.h>

namespace tape {

int64_t Number::whole(const char* operation, DType to) const {
  // 2^63 is a double, and the smallest one that does not fit.
  const bool fits_i64 = dtype_ != f64 || (floating_ >= -0x1p63 && floating_ < 0x1p63);
  const int64_t value = !fits_i64 ? 0 : dtype_ == f64 ? static_cast<int64_t>(floating_) : whole_;
  const bool fits = to == u8 ? value >= -255 && value <= 255
                    : to == i32
                        ? value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()
                        : true;
  if (!fits_i64 || !fits)
    raise(ErrorKind::numeric, "{}: {} does not fit {}", operation, to_string(*this), tape::to_string(to));
  return value;
}

std::string to_string(const Number& number) {
  if (number.dtype() == f64) return fmt::format("{}", number.value());
  if (number.dtype() == boolean) return number.value() != 0 ? "true" : "false";
  return fmt::format("{}", number.to<int64_t>("number"));
}

}  // namespace tape
