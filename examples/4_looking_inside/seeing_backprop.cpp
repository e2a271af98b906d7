// Writes an HTML page with every value and gradient of a translator for one sentence, and prints one head's attention
// gradients in the terminal.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

int main() {
  manual_seed(1);
  models::Transformer model({.src_vocab = 20, .tgt_vocab = 20, .d_model = 32, .layers = 2, .heads = 4, .d_ff = 64});
  model.eval();
  const inspect::Study study =
      inspect::study(model, {.ids = {5, 6, 7, 2}, .tokens = {"drei", "und", "vierzig", "<eos>"}},
                     {.ids = {8, 9, 10}, .tokens = {"forty", "-", "three"}});
  inspect::write_page("seeing_backprop.html", study, {.title = "An untrained translator"});

  // Would the loss rise or fall if this head attended more to a word?
  std::cout << inspect::attention_text(study,
                                       {.block = "decoder.layers.0.cross_attention", .head = 2, .gradients = true});

  // A page for any function of tensors, showing the recorded graph.
  const Tensor x = randn({4, 4}).requires_grad_();
  inspect::write_page("softmax.html", inspect::study([&] { return sum(square(softmax(x, -1))); }, {{"x", x}}));
  const Tensor y = softmax(x, -1);
  const Formula softmax_formula = formula_of(y, {x});
  std::cout << "\n" << softmax_formula.forward << "\n" << softmax_formula.backward[0] << "\n";
}
