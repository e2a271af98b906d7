// An LSTM (Hochreiter and Schmidhuber 1997; forget gates: Gers et al. 2000) on the adding problem: two values of a
// sequence are marked, and the model must output their sum after the last one.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// i, f, o = sigmoid(W x + U h + b), g = tanh(W x + U h + b);  c = f c + i g,  h = o tanh(c).
struct Lstm : nn::Layer<Lstm> {
  nn::Child<nn::Linear> input, hidden;
  Lstm(int64_t in, int64_t width)
      : input(this, "input", in, 4 * width), hidden(this, "hidden", width, 4 * width, {.bias = false}) {}

  Tensor forward(const Tensor& x) {                 // [B, T, C]
    const Tensors projected = unbind(input(x), 1);  // W x + b of all time steps in one product: T times [B, 4 H]
    Tensor h = zeros({x.size(0), hidden->weight.size(1)}, x.dtype()), c = h;
    Tensors outputs;
    for (const Tensor& step_input : projected) {
      const Tensors gates = chunk(step_input + hidden(h), 4, -1);          // i, f, g, o
      c = sigmoid(gates[1] + 1) * c + sigmoid(gates[0]) * tanh(gates[2]);  // + 1: remembers at first
      h = sigmoid(gates[3]) * tanh(c);
      outputs.push_back(h);
    }
    return stack(outputs, 1);  // [B, T, H]
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
  const Tensor positions = multinomial(ones({rows, length}), 2, {}, draws);  // two distinct positions
  const Tensor marks = sum(one_hot(positions, length), 1);
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
  const double error = mse_loss(model(held_out.x), held_out.sum).item(), baseline = var(held_out.sum).item();
  std::cout << "squared error of always guessing the mean: " << (baseline > 0.1 ? "over 0.1" : "0.1 or less") << "\n"
            << "squared error of the LSTM: " << (error < 0.002 ? "below 0.002" : "0.002 or more") << "\n";
  return report.ok() && second.ok() && error < 0.002 ? 0 : 1;
}
