#include "autograd/cuda/emulation/blas_matmul.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "autograd/cuda/emulation/device_memory.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "base/error.h"
#include "base/half.h"

namespace tape::cuda_device::emulation {
namespace {

[[noreturn]] void fail(FaultKind kind, std::string_view what) {
  Fault fault;
  fault.kind = kind;
  fault.kernel = "cublasLtMatmul";
  fault.message = fmt::format("{}: {}: {}", fault.kernel, to_string(kind), what);
  driver_state().fault = fault;
  raise(ErrorKind::device, "emulated device: {}", fault.message);
}

/// Reports the first byte of a range that does not exist or, if it is read, was not written.
void check_bytes(const char* operand, const char* begin, int64_t bytes, bool read) {
  if (!device_memory()->contains(begin))
    fail(FaultKind::host_pointer, fmt::format("operand {} is not device memory", operand));
  Region& region = device_memory()->region();
  const size_t first = region.offset(begin), end = first + static_cast<size_t>(bytes);
  for (size_t at = first; at < end; at = at / Region::kWord * Region::kWord + Region::kWord) {
    const size_t begin_in_word = at % Region::kWord, bytes_of_word = std::min(end - at, Region::kWord - begin_in_word);
    const auto mask = static_cast<uint8_t>(((1U << bytes_of_word) - 1) << begin_in_word);
    const uint8_t state = region.state(at / Region::kWord);
    const char* const address = begin + (at - first);
    if ((state & mask) != mask)
      fail(FaultKind::out_of_bounds, fmt::format("operand {} {} {}", operand, read ? "reads" : "writes",
                                                 device_memory()->allocated().describe(address)));
    if (read && (state >> 4 & mask) != mask)
      fail(FaultKind::uninitialized_read, fmt::format("operand {} reads {}, which was never written", operand,
                                                      device_memory()->allocated().describe(address)));
  }
}

/// Calls f(address, bytes) for each column of each matrix of a batch.
template <class F>
void for_columns(const BlasMatrix& m, const F& f) {
  for (int64_t i = 0; i < m.batch; ++i)
    for (int64_t column = 0; column < m.columns; ++column)
      f(m.data + (i * m.stride + column * m.leading) * m.element_bytes(), m.rows * m.element_bytes());
}

using Ranges = std::vector<std::pair<const char*, const char*>>;

void add_columns(Ranges& ranges, const BlasMatrix& m) {
  for_columns(m, [&](const char* begin, int64_t bytes) { ranges.emplace_back(begin, begin + bytes); });
}

/// Reports an output that overlaps itself or something that is read.
void check_overlap(const BlasMatmul& p) {
  Ranges written;
  add_columns(written, p.d);
  if (p.sums_of_b) written.emplace_back(p.sums_of_b, p.sums_of_b + p.d.columns * p.d.element_bytes());
  std::ranges::sort(written);
  for (size_t i = 1; i < written.size(); ++i)
    if (written[i].first < written[i - 1].second) fail(FaultKind::race, "columns or matrices that are written overlap");
  Ranges read;
  for (const BlasMatrix* operand : {&p.a, &p.b}) add_columns(read, *operand);
  if (p.bias) read.emplace_back(p.bias, p.bias + p.d.rows * p.d.element_bytes());
  if (p.workspace) read.emplace_back(p.workspace, p.workspace + p.workspace_bytes);
  for (const auto& [begin, end] : read) {
    const auto after = std::ranges::lower_bound(written, end, {}, &std::pair<const char*, const char*>::first);
    if (after != written.begin() && std::prev(after)->second > begin)
      fail(FaultKind::race, "what is written overlaps what is read");
  }
}

void check_operands(const BlasMatmul& p) {
  for_columns(p.a, [&](const char* at, int64_t bytes) { check_bytes("a", at, bytes, true); });
  for_columns(p.b, [&](const char* at, int64_t bytes) { check_bytes("b", at, bytes, true); });
  if (p.beta != 0) for_columns(p.c, [&](const char* at, int64_t bytes) { check_bytes("c", at, bytes, true); });
  for_columns(p.d, [&](const char* at, int64_t bytes) { check_bytes("d", at, bytes, false); });
  for (int64_t i = 0; p.bias && i < p.d.batch; ++i)
    check_bytes("bias", p.bias + i * p.bias_stride * p.d.element_bytes(), p.d.rows * p.d.element_bytes(), true);
  if (p.sums_of_b) check_bytes("sums of b", p.sums_of_b, p.d.columns * p.d.element_bytes(), false);
  if (p.workspace_bytes) check_bytes("workspace", p.workspace, p.workspace_bytes, false);
  check_overlap(p);
}

/// The nearest value with 10 bits of mantissa.
float to_tf32(float x) {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000) & ~0x1FFFU);
}

/// op(m) of one matrix of a batch, column-major, in the type of sums.
template <class T, class Sum>
std::vector<Sum> values_of(const BlasMatrix& m, int64_t index, BlasCompute compute) {
  const T* const data = reinterpret_cast<const T*>(m.data) + index * m.stride;
  const int64_t rows = m.op_rows(), columns = m.op_columns();
  std::vector<Sum> values(static_cast<size_t>(rows * columns));
  for (int64_t j = 0; j < m.columns; ++j)
    for (int64_t i = 0; i < m.rows; ++i) {
      auto value = static_cast<Sum>(data[j * m.leading + i]);
      if constexpr (std::is_same_v<T, float>)
        if (compute == BlasCompute::tf32) value = to_tf32(value);
      values[static_cast<size_t>(m.transposed ? i * rows + j : j * rows + i)] = value;
    }
  return values;
}

/// T is the type of a and b, Result that of c, d, the bias and the sums of b.
template <class T, class Sum, class Result = T>
class Multiplier {
 public:
  explicit Multiplier(const BlasMatmul& matmul) : p_(matmul), inner_(matmul.a.op_columns()) {}

  void run() {
    for (int64_t i = 0; i < p_.d.batch; ++i) {
      a_ = values_of<T, Sum>(p_.a, i, p_.compute);
      b_ = values_of<T, Sum>(p_.b, i, p_.compute);
      for (int64_t column = 0; column < p_.d.columns; ++column) store(i, column, sums_of(column));
    }
    if (p_.sums_of_b) store_sums_of_b();
  }

 private:
  /// A column of the product, before it is scaled.
  std::vector<Sum> sums_of(int64_t column) const {
    const auto rows = static_cast<size_t>(p_.d.rows);
    std::vector<Sum> all(rows);
    for (int64_t part = 0; part < p_.parts; ++part) {
      std::vector<Sum> sums(rows);
      for (int64_t k = inner_ * part / p_.parts; k < inner_ * (part + 1) / p_.parts; ++k) {
        const Sum factor = b_[static_cast<size_t>(column * inner_ + k)];
        const Sum* const left = a_.data() + static_cast<size_t>(k) * rows;
        for (size_t row = 0; row < rows; ++row) sums[row] += left[row] * factor;
      }
      for (size_t row = 0; row < rows; ++row) {
        all[row] += sums[row];
        if (p_.rounds_parts) all[row] = static_cast<Sum>(Result(all[row]));
      }
    }
    return all;
  }

  void store_sums_of_b() const {
    Result* const to = reinterpret_cast<Result*>(p_.sums_of_b);
    const auto inner = static_cast<size_t>(inner_);
    for (size_t column = 0; column < b_.size() / inner; ++column) {
      Sum sum = 0;
      for (size_t k = 0; k < inner; ++k) sum += b_[column * inner + k];
      to[column] = Result(sum);
    }
    device_memory()->region().set_written(to, b_.size() / inner * sizeof(Result));
  }

  void store(int64_t index, int64_t column, const std::vector<Sum>& sums) const {
    const Result* const from = reinterpret_cast<const Result*>(p_.c.data) + index * p_.c.stride + column * p_.c.leading;
    const Result* const bias = reinterpret_cast<const Result*>(p_.bias) + index * p_.bias_stride;
    char* const data = const_cast<char*>(p_.d.data);
    Result* const to = reinterpret_cast<Result*>(data) + index * p_.d.stride + column * p_.d.leading;
    for (size_t row = 0; row < sums.size(); ++row) {
      Sum value = static_cast<Sum>(p_.alpha) * sums[row];
      if (p_.beta != 0) value += static_cast<Sum>(p_.beta) * static_cast<Sum>(from[row]);
      if (p_.bias) value += static_cast<Sum>(bias[row]);
      to[row] = Result(value);
    }
    device_memory()->region().set_written(to, sums.size() * sizeof(Result));
  }

  const BlasMatmul& p_;
  int64_t inner_;
  std::vector<Sum> a_, b_;
};

}  // namespace

void run_matmul(const BlasMatmul& matmul) {
  check_operands(matmul);
  if (matmul.workspace_bytes) {
    // Its contents are lost, so whatever else is there is no longer right.
    std::memset(matmul.workspace, 0xFF, static_cast<size_t>(matmul.workspace_bytes));
    device_memory()->region().set_written(matmul.workspace, static_cast<size_t>(matmul.workspace_bytes));
  }
  if (matmul.a.type == BlasType::bf16 && matmul.d.type == BlasType::f32)
    return Multiplier<BFloat16, float, float>(matmul).run();
  switch (matmul.d.type) {
    case BlasType::f32:
      return Multiplier<float, float>(matmul).run();
    case BlasType::f64:
      return Multiplier<double, double>(matmul).run();
    case BlasType::f16:
      return Multiplier<Half, float>(matmul).run();
    case BlasType::bf16:
      return Multiplier<BFloat16, float>(matmul).run();
  }
}

}  // namespace tape::cuda_device::emulation
