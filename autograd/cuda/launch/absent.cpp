// Tables of which CUDA has no kernels: these operations are computed on the host.
#include <utility>

#include "autograd/kernels/convolution/common/convolution.h"
#include "autograd/kernels/convolution/pool.h"
#include "autograd/kernels/loss/ctc.h"
#include "autograd/kernels/runtime/common/missing.h"

namespace tape::kernels::cuda {
namespace {

/// An aggregate with every field set to `entry`; Fields is tried upward from 1.
template <class Table, size_t Fields = 1, class Entry>
constexpr Table filled(const Entry& entry) {
  const auto made = []<size_t... I>(std::index_sequence<I...>, const Entry& one) -> Table {
    return Table{((void)I, one)...};
  };
  constexpr bool has_more = []<size_t... I>(std::index_sequence<I...>) {
    return requires(Entry one) { Table{((void)I, one)...}; };
  }(std::make_index_sequence<Fields + 1>());
  if constexpr (has_more)
    return filled<Table, Fields + 1>(entry);
  else
    return made(std::make_index_sequence<Fields>(), entry);
}

}  // namespace

#define TAPE_NO_KERNELS(Table, name)                                    \
  extern const Table<float> name##_f32 = filled<Table<float>>(missing); \
  extern const Table<double> name##_f64 = filled<Table<double>>(missing);
TAPE_NO_KERNELS(ConvolutionKernels, convolution)
TAPE_NO_KERNELS(CtcKernels, ctc)
TAPE_NO_KERNELS(PoolKernels, pool)

}  // namespace tape::kernels::cuda
