// An LSTM (Hochreiter and Schmidhuber 1997; with forget gates, Gers et al. 2000), and the task it was made for: of a
// row of numbers, two are marked, and their sum is to be said at the end.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// i, f, o = sigmoid, g = tanh of W x + U h + b;  c = f c + i g,  h = o tanh(c).
struct Lstm : nn::Layer<Lstm> {
  nn::Child<nn::Linear> input, hidden;
  Lstm(int64_t in, int64_t width)
      : input(this, "input", in, 4 * width), hidden(this, "hidden", width, 4 * width, {.bias = false}) {}

  Tensor forward(const Tensor& x) {             // [B, T, C]
    const Tensors given = unbind(input(x), 1);  // the same for all times at once: T times [B, 4 H]
    Tensor h = zeros({x.size(0), hidden->weight.size(1)}, x.dtype()), c = h;
    Tensors all;
    for (const Tensor& now : given) {
      const Tensors gates = chunk(now + hidden(h), 4, -1);                 // i, f, g, o
      c = sigmoid(gates[1] + 1) * c + sigmoid(gates[0]) * tanh(gates[2]);  // + 1: it begins by keeping
      h = sigmoid(gates[3]) * tanh(c);
      all.push_back(h);
    }
    return stack(all, 1);  // [B, T, H]
  }
};

struct Adder : nn::Layer<Adder> {
  nn::Child<Lstm> memory{this, "memory", 2, 24};
  nn::Child<nn::Linear> output{this, "output", 24, 1};
  Tensor forward(const Tensor& x) { return flatten(output(select(memory(x), 1, -1))); }  // [B]
};

struct Batch {
  Tensor x, sum;
};
Batch make_batch(int64_t rows, int64_t length, Generator& draws) {
  const Tensor numbers = rand({rows, length}, f32, draws);
  const Tensor places = multinomial(ones({rows, length}), 2, {}, draws);  // two different ones
  const Tensor marks = sum(one_hot(places, length), 1);
  return {stack({numbers, marks}, -1), sum(numbers * marks, -1)};
}

int main() {
  manual_seed(1);
  Lstm small(3, 2);
  const Tensor sample = randn({2, 4, 3}, f64);
  const GradcheckReport report = gradcheck(small, {sample}), second = gradgradcheck(small, {sample});
  std::cout << report << "\nsecond derivatives " << (second.ok() ? "agree" : "differ") << "\n";

  Adder model;
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  Generator draws(2);
  constexpr int64_t length = 30, steps = 1500;
  optim::CosineSchedule schedule(adam, {.warmup = 10, .total = steps});
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = make_batch(64, length, draws);
    adam.zero_grad();
    mse_loss(model(batch.x), batch.sum).backward();
    optim::clip_grad_norm(model.parameters(), 1.0);
    adam.step();
    schedule.step();
  }

  const NoGrad no_grad;
  const Batch held_out = make_batch(1000, length, draws);
  const double error = mse_loss(model(held_out.x), held_out.sum).item(), guess = var(held_out.sum).item();
  std::cout << "squared error of the mean as a guess: " << (guess > 0.1 ? "over 0.1" : "0.1 or less") << "\n"
            << "squared error of the LSTM: " << (error < 0.002 ? "below 0.002" : "0.002 or more") << "\n";
  return report.ok() && second.ok() && error < 0.002 ? 0 : 1;
}
