// A head that reads digits from a sequence of frames. Training needs no alignment of frames with digits (CTC, Graves et
// al. 2006).
#include <tapeformer.h>

#include <iostream>

using namespace tape;

constexpr int64_t blank = 0, classes = 11;  // digit d is class d + 1

struct CtcHead : nn::Layer<CtcHead> {
  nn::Child<nn::Linear> up, output;
  CtcHead(int64_t features, int64_t width)
      : up(this, "up", 3 * features, width), output(this, "output", width, classes) {}

  // Log probability of each class at each frame, computed from the frame and its two neighbors.
  Tensor forward(const Tensor& x) {                                   // [B, T, C]
    const Tensor around = unfold(pad(x, {{1, 1}, {0, 0}}), 1, 3, 1);  // [B, T, C, 3]
    return log_softmax(output(relu(up(flatten(around, 2, 3)))), -1);  // [B, T, V]
  }
  Tensor loss(const Tensor& log_p, const Tensor& labels, const Tensor& lengths) {
    const Tensor frames = full({log_p.size(0)}, static_cast<double>(log_p.size(1)), i64);
    return ctc_loss(transpose(log_p, 0, 1), labels, frames, lengths, {.blank = blank});
  }
  // Greedy decoding: the most likely class of each frame, with repetitions merged and blanks removed.
  static std::vector<int64_t> read(const Tensor& log_p) {  // [T, V]
    std::vector<int64_t> labels;
    int64_t before = blank;
    for (const int64_t now : argmax(log_p, -1).to_vector<int64_t>()) {
      if (now != blank && now != before) labels.push_back(now);
      before = now;
    }
    return labels;
  }
};

// Strings of up to 6 digits. Each digit sounds for 2 to 4 frames, after 1 to 3 frames of noise.
constexpr int64_t features = 12, length = 48, longest = 6;
struct Batch {
  Tensor x, labels, lengths;
};
Batch make_batch(int64_t rows, const Tensor& sounds, Generator& draws) {
  Batch batch{0.4 * randn({rows, length, features}, f32, draws), zeros({rows, longest}, i64), zeros({rows}, i64)};
  Tensor heard = zeros({rows, length}, i64);  // the class of each frame, 0 for none
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t digits = 1 + draws.below(longest);
    batch.lengths.mutable_data<int64_t>()[row] = digits;
    for (int64_t i = 0, frame = 0; i < digits; ++i) {
      const int64_t digit = 1 + draws.below(classes - 1);
      batch.labels.mutable_data<int64_t>()[row * longest + i] = digit;
      frame += 1 + draws.below(3);
      for (const int64_t end = frame + 2 + draws.below(3); frame < end; ++frame)
        heard.mutable_data<int64_t>()[row * length + frame] = digit;
    }
  }
  batch.x = batch.x + embedding(sounds, heard);
  return batch;
}

int main() {
  manual_seed(1);
  CtcHead small(2, 3);
  const Tensor sample = randn({2, 5, 2}, f64);
  const GradcheckReport report = gradcheck(small, {sample}), second = gradgradcheck(small, {sample});
  std::cout << report << "\nsecond derivatives " << (second.ok() ? "agree" : "differ") << "\n";

  Generator draws(2);
  const Tensor sounds = cat({zeros({1, features}), randn({classes - 1, features}, f32, draws)});
  CtcHead model(features, 48);
  constexpr int64_t steps = 2000;
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  optim::CosineSchedule schedule(adam, {.warmup = 10, .total = steps});
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = make_batch(32, sounds, draws);
    adam.zero_grad();
    model.loss(model(batch.x), batch.labels, batch.lengths).backward();
    adam.step();
    schedule.step();
  }

  const NoGrad no_grad;
  const Batch held_out = make_batch(500, sounds, draws);
  const Tensor log_p = model(held_out.x);
  int64_t right = 0;
  for (int64_t row = 0; row < 500; ++row) {
    const Tensor digits = slice(held_out.labels[row], 0, {.end = held_out.lengths[row].item<int64_t>()});
    right += CtcHead::read(log_p[row]) == digits.to_vector<int64_t>();
  }
  std::cout << "strings read without a mistake: " << (right > 490 ? "over 98%" : "98% or fewer") << "\n";
  return report.ok() && second.ok() && right > 490 ? 0 : 1;
}
