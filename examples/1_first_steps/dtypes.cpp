// Dtype promotion, bf16 storage, in-place arithmetic, and an .npz file that NumPy can read.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

int main() {
  const Tensor ids = tensor({1, 2, 3}, i32), wide = tensor({0.5, 1, 2}, f64);
  std::cout << ids + 1 << "\n" << ids * 0.5 << "\n" << ids + wide << "\n";

  Tensor weight = tensor({0.1, 0.2, 0.3}).requires_grad_();
  const Tensor kept = weight.to(bf16);  // half the memory, 8 significant bits
  std::cout << kept << "\n";

  Tensor y = kept * wide;  // f64; each gradient has the dtype of its tensor
  y += 1;
  y *= y;
  sum(y).backward();
  std::cout << weight.grad() << "\n";

  save_npz("arrays.npz", {{"ids", ids}, {"weight", kept}}, {.compressed = true});
  for (const auto& [name, array] : load_npz("arrays.npz")) std::cout << name << " = " << array << "\n";
}
