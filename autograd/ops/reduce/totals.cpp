#include "autograd/ops/reduce/totals.h"

#include <type_traits>
#include <vector>

#include "autograd/kernels/reduce/reduce.h"
#include "autograd/ops/read_back.h"

namespace tape {
namespace {

/// Result of kernel(count, spans, result) for the tensors of type T.
template <class T, class Result>
Result total_of(const char* operation, TensorList tensors, void (*kernel)(int64_t, const kernels::Span<T>*, Result*)) {
  std::vector<kernels::Span<T>> spans;
  for (const Tensor& x : tensors)
    dispatch_floating(operation, x.dtype(), [&]<class U>(U) {
      if constexpr (std::is_same_v<T, U>) spans.push_back({x.data<T>(), x.numel()});
    });
  return read_back<Result>([&](Result* result) { kernel(std::ssize(spans), spans.data(), result); });
}

}  // namespace

double sum_of_squares(const char* operation, TensorList tensors) {
  return total_of(operation, tensors, kernels::reduce<float>().sum_of_squares) +
         total_of(operation, tensors, kernels::reduce<double>().sum_of_squares);
}

bool all_finite(const char* operation, TensorList tensors) {
  return total_of(operation, tensors, kernels::reduce<float>().all_finite) &&
         total_of(operation, tensors, kernels::reduce<double>().all_finite);
}

}  // namespace tape
