#include "autograd/kernels/elementwise/parametric.h"

#include "autograd/kernels/vector/hyperbolic.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

struct LeakyRelu {
  static constexpr int64_t kCost = 1;
  template <class V, class T>
  TAPE_MEMBER V value(V x, T a, T) const {
    return x > 0 ? x : x * a;
  }
  template <class V, class T>
  TAPE_MEMBER V slope(V x, T a, T) const {
    return x > 0 ? V{} + 1 : V{} + a;
  }
};

struct Elu {
  static constexpr int64_t kCost = 4;  // of an exponential, relative to an addition
  template <class V, class T>
  TAPE_MEMBER V value(V x, T a, T) const {
    return x > 0 ? x : expm1(x) * a;
  }
  template <class V, class T>
  TAPE_MEMBER V slope(V x, T a, T) const {
    return x > 0 ? V{} + 1 : exp(x) * a;
  }
};

struct Softplus {
  static constexpr int64_t kCost = 4;
  template <class V, class T>
  TAPE_MEMBER V value(V x, T a, T b) const {
    const V scaled = x * a;
    return scaled > b ? x : kernels::TAPE_LEVEL::softplus(scaled) / a;
  }
  template <class V, class T>
  TAPE_MEMBER V slope(V x, T a, T b) const {
    const V scaled = x * a;
    return scaled > b ? V{} + 1 : sigmoid(scaled);
  }
};

template <class F, class T>
void forward(int64_t n, double first, double second, const T* x, T* y) {
  const T a = static_cast<T>(first), b = static_cast<T>(second);
  for_chunks(n, F::kCost, [&](int64_t begin, int64_t end) {
    map_vectors(end - begin, x + begin, y + begin, [&](Vec<T> v) { return F().value(v, a, b); });
  });
}
template <class F, class T>
void backward(int64_t n, double first, double second, const T* x, const T* dy, T* dx) {
  const T a = static_cast<T>(first), b = static_cast<T>(second);
  for_chunks(n, F::kCost, [&](int64_t begin, int64_t end) {
    int64_t i = begin;
    for (; i + kLanes<T> <= end; i += kLanes<T>) store(dx + i, load(dy + i) * F().slope(load(x + i), a, b));
    if (i < end)
      store_first(dx + i, load_first(dy + i, end - i) * F().slope(load_first(x + i, end - i), a, b), end - i);
  });
}
}  // namespace

TAPE_DEFINE_TABLES(ParametricKernels, parametric, .leaky_relu = {forward<LeakyRelu, T>, backward<LeakyRelu, T>},
                   .elu = {forward<Elu, T>, backward<Elu, T>},
                   .softplus = {forward<Softplus, T>, backward<Softplus, T>})

}  // namespace tape::kernels::TAPE_LEVEL
