#include "autograd/dtype.h"

#include <iterator>
#include <ostream>

namespace tape {

std::string_view to_string(DType dtype) {
  static constexpr std::string_view names[] = {"bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64"};
  const auto place = static_cast<size_t>(dtype);
  return place < std::size(names) ? names[place] : "?";
}

std::ostream& operator<<(std::ostream& stream, DType dtype) { return stream << to_string(dtype); }

}  // namespace tape
