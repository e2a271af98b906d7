#pragma once

#include <cstring>
#include <map>
#include <string>

#include "autograd/tensor.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// Compares names, dtypes, shapes and bits.
inline void expect_same_tensors(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  expect(a.size() == b.size(), "{} tensors became {}", b.size(), a.size());
  for (const auto& [name, tensor] : a) {
    const auto other = b.find(name);
    expect(other != b.end() && other->second.dtype() == tensor.dtype() && other->second.shape() == tensor.shape(),
           "tensor {} differs", name);
    const auto size = static_cast<size_t>(tensor.numel() * size_of(tensor.dtype()));
    expect(size == 0 || std::memcmp(other->second.raw(), tensor.raw(), size) == 0, "the bits of tensor {} differ",
           name);
  }
}

}  // namespace tape::fuzz
