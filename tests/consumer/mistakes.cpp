// Mistakes that do not compile: the compiler's message for each line contains the text after it (mistakes.cmake).
#include "tapeformer.h"

using namespace tape;

struct Model : nn::Layer<Model> {
  nn::Child<nn::MultiHeadAttention> attention{this, "attention", 8, 2};
  nn::Child<nn::Linear> output{this, "output", 8, 2};

  Tensor forward(const Tensor& x, const Tensor& mask) {
    const Tensor seen = attention(x, x, x, mask);  // refused: for a Mask write Mask::keep(tensor)
    return output->forward(seen);                  // refused: call the child itself, child(x)
  }
};

int main() {
  Model model;
  nn::MultiHeadAttention attention(8, 2);
  model.output->weight = zeros({2, 8});  // refused: use weight.set_data(values) or weight.tie(shared)
  const Tensor q = zeros({1, 3, 8});
  attention(q, q, q, q);                     // refused: pass a Mask: Mask::keep(t), Mask::additive(t)
  scaled_dot_product_attention(q, q, q, q);  // refused: Mask::padding(ids, padding_id)
  raise(ErrorKind::config, "{} and {}", 1);  // refused: more fields than arguments
  raise(ErrorKind::config, "{}", 1, 2);      // refused: more arguments than fields
  raise(ErrorKind::config, "{:d}", "one");   // refused: a field does not fit its argument
  raise(ErrorKind::config, "{", 1);          // refused: a { without its }
}
