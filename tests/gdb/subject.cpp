// Tensors for gdb to print: tests/gdb/check.cmake stops in look_here().
#include <tapeformer.h>

using namespace tape;

namespace {

struct Scale : nn::Module {
  nn::Parameter factor{this, "factor", full({1, 2}, 0.25)};
};

Tensor made_in_a_module() {
  const Trace trace;
  const ModuleScope outer("decoder"), inner("layers.0");
  Tensor x = tensor({{0.5, -1}, {2, 3}}, f64).requires_grad_();
  return matmul(x, x);
}

__attribute__((noinline)) void look_here(const Tensor& leaf, const Tensor& made, const Tensor& large, const Tensor& ids,
                                         const Tensor& hidden, const Tensor& row, const Tensor& nothing,
                                         const Scale& layer) {
  asm volatile("" ::"r"(&leaf), "r"(&made), "r"(&large), "r"(&ids), "r"(&hidden), "r"(&row), "r"(&nothing), "r"(&layer)
               : "memory");
}

}  // namespace

int main() {
  Tensor leaf = tensor({1.5, -2}, f32).requires_grad_();
  sum(square(leaf)).backward();
  const Tensor made = made_in_a_module(), large = arange(12).to(f64), ids = tensor({{3, 1, 0}}, i64);
  const Scale layer;
  look_here(leaf, made, large, ids, eq(ids, scalar(0, i64)), made.detach()[1], {}, layer);
}
