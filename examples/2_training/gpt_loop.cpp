// The shortest training loop: a GPT learns to count.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

int main() {
  manual_seed(1);
  models::Gpt model({.vocab = 10, .d_model = 32, .layers = 2, .heads = 4, .max_length = 16, .dropout = 0});
  optim::AdamW adamw(model.parameters(), {.lr = 3e-3});
  optim::CosineSchedule schedule(adamw, {.warmup = 20, .total = 200});
  for (int step = 1; step <= 200; ++step) {
    const Tensor ids = remainder(randint(0, 10, {16, 1}) + arange(17), 10);  // 7 8 9 0 1 ...
    Tensor loss = cross_entropy(model(slice(ids, 1, {.end = 16})), slice(ids, 1, {.start = 1}));
    adamw.zero_grad();
    loss.backward();
    adamw.step();
    schedule.step();
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss.item() << "\n";
  }
  model.eval();
  std::cout << "7 8 9 -> " << argmax(model(tensor({{7, 8, 9}}, i64)), -1)[0][2].item() << "\n";
}
