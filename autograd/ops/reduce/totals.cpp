#include "autograd/ops/reduce/totals.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "autograd/create.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/kernels/reduce/reduce.h"
#include "autograd/ops/kernel_call.h"

namespace tape {
namespace {

template <class T>
std::vector<kernels::Span<T>> spans_of(const char* operation, TensorList tensors, const KernelCall& at) {
  std::vector<kernels::Span<T>> spans;
  for (const Tensor& x : tensors)
    dispatch_floating(operation, x.dtype(), [&]<class U>(U) {
      if constexpr (std::is_same_v<T, U>) spans.push_back({at.in<T>(x), x.numel()});
    });
  return spans;
}

/// Result of a kernel, choose(table), for the tensors of type T; `none` if there are none.
template <class T, class Result, class Choose>
Result total_of(const char* operation, TensorList tensors, Result none, const Choose& choose) {
  Result result = none;
  for (const Tensor& x : tensors) dispatch_floating(operation, x.dtype(), [](auto) {});
  if (std::none_of(tensors.begin(), tensors.end(), [](const Tensor& x) { return x.dtype() == dtype_of<T>; }))
    return none;
  run_kernels(operation, tensors.size() > 0 ? tensors[0].device() : cpu, [&](const KernelCall& at) {
    const auto spans = spans_of<T>(operation, tensors, at);
    const auto kernel = choose(kernels::reduce<T>(at));
    result = at.read_back<Result>([&](Result* to) { kernel(std::ssize(spans), spans.data(), to); });
  });
  return result;
}

}  // namespace

double sum_of_squares(const char* operation, TensorList tensors) {
  const auto kernel = [](const auto& table) { return table.sum_of_squares; };
  return total_of<float>(operation, tensors, 0.0, kernel) + total_of<double>(operation, tensors, 0.0, kernel);
}

bool all_finite(const char* operation, TensorList tensors) {
  const auto kernel = [](const auto& table) { return table.first_not_finite; };
  constexpr int64_t kNone = -1;
  return total_of<float>(operation, tensors, kNone, kernel) < 0 &&
         total_of<double>(operation, tensors, kNone, kernel) < 0;
}

void check_finite(const char* operation, TensorList tensors,
                  const std::function<std::string(int64_t tensor)>& message) {
  if (tensors.size() == 0) return;
  const ValueCheck finite = {ErrorKind::numeric, [=](int64_t tensor, int64_t) { return message(tensor); }};
  const Device device = tensors[0].device();
  run_kernels(operation, device, [&](const KernelCall& at) {
    dispatch_floating(operation, tensors[0].dtype(), [&]<class T>(T) {
      const auto spans = spans_of<T>(operation, tensors, at);
      Tensor first = empty({}, {i64, device});
      at.check(finite, [&](int64_t number, kernels::Finding* finding) {
        kernels::reduce<T>(at).first_not_finite(std::ssize(spans), spans.data(), at.out<int64_t>(first));
        kernels::take(at).note_position(at.in<int64_t>(first), number, finding);
      });
    });
  });
}

}  // namespace tape
