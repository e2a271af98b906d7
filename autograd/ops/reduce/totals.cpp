#include "autograd/ops/reduce/totals.h"

#include <type_traits>
#include <vector>

#include "autograd/kernels/reduce/reduce.h"
#include "autograd/ops/kernel_call.h"

namespace tape {
namespace {

/// Result of a kernel, choose(table), for the tensors of type T.
template <class T, class Result, class Choose>
Result total_of(const char* operation, TensorList tensors, const Choose& choose) {
  Result result = {};
  run_kernels(operation, tensors.size() > 0 ? tensors[0].device() : cpu, [&](const KernelCall& at) {
    std::vector<kernels::Span<T>> spans;
    for (const Tensor& x : tensors)
      dispatch_floating(operation, x.dtype(), [&]<class U>(U) {
        if constexpr (std::is_same_v<T, U>) spans.push_back({at.in<T>(x), x.numel()});
      });
    const auto kernel = choose(kernels::reduce<T>(at));
    result = at.read_back<Result>([&](Result* to) { kernel(std::ssize(spans), spans.data(), to); });
  });
  return result;
}

}  // namespace

double sum_of_squares(const char* operation, TensorList tensors) {
  const auto kernel = [](const auto& table) { return table.sum_of_squares; };
  return total_of<float, double>(operation, tensors, kernel) + total_of<double, double>(operation, tensors, kernel);
}

bool all_finite(const char* operation, TensorList tensors) {
  const auto kernel = [](const auto& table) { return table.all_finite; };
  return total_of<float, bool>(operation, tensors, kernel) && total_of<double, bool>(operation, tensors, kernel);
}

}  // namespace tape
