#include "autograd/ops/reduce/totals.h"

#include <type_traits>
#include <vector>

#include "autograd/create.h"
#include "autograd/kernels/index/common/take.h"
#include "autograd/kernels/reduce/reduce.h"
#include "autograd/ops/kernel_call.h"

namespace tape {
namespace {

/// Indices of the tensors of type T.
template <class T>
std::vector<size_t> of_type(const char* operation, TensorList tensors) {
  std::vector<size_t> found;
  for (size_t i = 0; i < tensors.size(); ++i)
    dispatch_floating(operation, tensors[i].dtype(), [&]<class U>(U) {
      if constexpr (std::is_same_v<T, U>) found.push_back(i);
    });
  return found;
}

/// Runs run(at, spans) with the values of these tensors.
template <class T, class Run>
void with_spans(const char* operation, TensorList tensors, const std::vector<size_t>& which, const Run& run) {
  run_kernels(operation, tensors[which[0]].device(), [&](const KernelCall& at) {
    std::vector<kernels::Span<T>> spans;
    for (const size_t i : which) spans.push_back({at.in<T>(tensors[i]), tensors[i].numel()});
    run(at, spans);
  });
}

/// Result of a kernel, choose(table), for the tensors of type T; `none` if there are none.
template <class T, class Result, class Choose>
Result total_of(const char* operation, TensorList tensors, Result none, const Choose& choose) {
  const std::vector<size_t> which = of_type<T>(operation, tensors);
  if (which.empty()) return none;
  Result result = none;
  with_spans<T>(operation, tensors, which, [&](const KernelCall& at, const auto& spans) {
    const auto kernel = choose(kernels::reduce<T>(at));
    result = at.read_back<Result>([&](Result* to) { kernel(std::ssize(spans), spans.data(), to); });
  });
  return result;
}

template <class T>
void check_finite_of(const char* operation, TensorList tensors, const std::function<std::string(size_t)>& message) {
  const std::vector<size_t> which = of_type<T>(operation, tensors);
  if (which.empty()) return;
  const ValueCheck finite = {ErrorKind::numeric,
                             [=](int64_t span, int64_t) { return message(which[static_cast<size_t>(span)]); }};
  with_spans<T>(operation, tensors, which, [&](const KernelCall& at, const auto& spans) {
    Tensor first = empty({}, {i64, tensors[which[0]].device()});
    at.check(finite, [&](int64_t number, kernels::Finding* finding) {
      kernels::reduce<T>(at).first_not_finite(std::ssize(spans), spans.data(), at.out<int64_t>(first));
      kernels::take(at).note_position(at.in<int64_t>(first), number, finding);
    });
  });
}

}  // namespace

double sum_of_squares(const char* operation, TensorList tensors) {
  const auto kernel = [](const auto& table) { return table.sum_of_squares; };
  return total_of<float>(operation, tensors, 0.0, kernel) + total_of<double>(operation, tensors, 0.0, kernel);
}

Tensor sum_of_squares_on_device(const char* operation, TensorList tensors, Device device) {
  if (tensors.size() == 0) return zeros({}, {f64, device});
  const std::vector<size_t> which = of_type<float>(operation, tensors);
  if (which.size() != tensors.size()) raise(ErrorKind::dtype, "{}: needs f32, got f64", operation);
  Tensor sum = empty({}, {f64, device});
  with_spans<float>(operation, tensors, which, [&](const KernelCall& at, const auto& spans) {
    kernels::reduce<float>(at).sum_of_squares(std::ssize(spans), spans.data(), at.out<double>(sum));
  });
  return sum;
}

bool all_finite(const char* operation, TensorList tensors) {
  const auto kernel = [](const auto& table) { return table.first_not_finite; };
  constexpr int64_t kNone = -1;
  return total_of<float>(operation, tensors, kNone, kernel) < 0 &&
         total_of<double>(operation, tensors, kNone, kernel) < 0;
}

void check_finite(const char* operation, TensorList tensors, const std::function<std::string(size_t)>& message) {
  check_finite_of<float>(operation, tensors, message);
  check_finite_of<double>(operation, tensors, message);
}

}  // namespace tape
