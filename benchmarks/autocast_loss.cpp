// Losses of small models with bf16 activations next to those with f32: on the CPU, with autocast, and with precision
// `medium` on the emulated device, which computes what a GPU does, slowly.
//
//   bench_autocast_loss TEXT [STEPS]
//
// prints the mean loss of the last 50 steps (default: of 500) on the characters of a file.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/cuda/emulation/emulation.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "models/decoders/gpt.h"
#include "models/decoders/llama.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adamw.h"
#include "optim/clip.h"

namespace {

using namespace tape;

constexpr int64_t kRows = 6, kLength = 32, kWidth = 48, kMeasured = 50;

struct Text {
  Tensor ids;  // [characters]
  int64_t vocabulary;
};

/// The first 200,000 characters, numbered from 1 in the order of their first use.
Text read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) raise(ErrorKind::io, "bench_autocast_loss: {} cannot be read", path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.resize(std::min<size_t>(text.size(), 200000));
  std::map<char, int64_t> numbers;
  std::vector<int64_t> ids;
  for (const char c : text) ids.push_back(numbers.emplace(c, std::ssize(numbers) + 1).first->second);
  return {from_vector(ids), std::ssize(numbers) + 1};
}

/// Trains on random places of the text; loss(ids, next) is that of kRows rows.
template <class Model, class Loss>
double mean_loss(Model& model, Device device, const Text& text, int64_t steps, const Loss& loss) {
  model.to(device);
  optim::AdamW optimizer(model.parameters(), {.lr = 2e-3});
  Generator places(5);
  double sum = 0;
  for (int64_t step = 0; step < steps; ++step) {
    Tensors rows;
    for (const int64_t at : randint(0, text.ids.numel() - kLength - 1, {kRows}, places).to_vector<int64_t>())
      rows.push_back(slice(text.ids, 0, {.start = at, .end = at + kLength + 1}));
    const Tensor batch = stack(rows).to(device);
    optimizer.zero_grad();
    const Tensor value = loss(slice(batch, 1, {.end = kLength}), slice(batch, 1, {.start = 1}));
    value.backward();
    optim::clip_grad_norm(model.parameters(), 1.0);
    optimizer.step();
    if (step >= steps - kMeasured) sum += value.item();
  }
  return sum / static_cast<double>(std::min(steps, kMeasured));
}

double gpt_loss(Device device, const Text& text, int64_t steps) {
  models::Gpt model({.vocab = text.vocabulary, .d_model = kWidth, .layers = 2, .heads = 3, .max_length = kLength});
  return mean_loss(model, device, text, steps,
                   [&](const Tensor& ids, const Tensor& next) { return model.loss(ids, next); });
}

double llama_loss(Device device, const Text& text, int64_t steps) {
  models::Llama model({.vocab = text.vocabulary, .d_model = kWidth, .layers = 2, .heads = 3, .d_ff = 2 * kWidth});
  return mean_loss(model, device, text, steps,
                   [&](const Tensor& ids, const Tensor& next) { return model.loss(ids, next); });
}

/// Its encoder reads what its decoder continues.
double transformer_loss(Device device, const Text& text, int64_t steps) {
  models::Transformer model({.src_vocab = text.vocabulary,
                             .tgt_vocab = text.vocabulary,
                             .d_model = kWidth,
                             .layers = 1,
                             .heads = 3,
                             .d_ff = 2 * kWidth});
  return mean_loss(model, device, text, steps,
                   [&](const Tensor& ids, const Tensor& next) { return model.loss(ids, ids, next); });
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::cerr << "bench_autocast_loss: usage: bench_autocast_loss TEXT [STEPS]\n";
    return 2;
  }
  try {
    const Text text = read_text(arguments[1]);
    const int64_t steps = count > 2 ? std::stoll(arguments[2]) : 500;
    fmt::print("{:<18} {:>10} {:>18} {:>18}\n", "", "f32", "autocast, CPU", "medium, emulated");
    struct Case {
      const char* name;
      double (*loss)(Device, const Text&, int64_t);
    };
    for (const auto& [name, loss] :
         {Case{"GPT", gpt_loss}, Case{"Llama", llama_loss}, Case{"encoder-decoder", transformer_loss}}) {
      const auto run = [&, train = loss](Device device) {
        manual_seed(1);
        return train(device, text, steps);
      };
      const double exact = run(cpu);
      const auto compared = [&](double rounded) {
        return fmt::format("{:.4f} ({:+.2f}%)", rounded, 100 * (rounded / exact - 1));
      };
      const std::string on_cpu = [&] {
        const AutocastScope autocast;
        return compared(run(cpu));
      }();
      const std::string emulated = [&] {
        const cuda_device::emulation::EmulatedDevice device;
        const MatmulPrecisionScope precision(MatmulPrecision::medium);
        return compared(run(cuda));
      }();
      fmt::print("{:<18} {:>10.4f} {:>18} {:>18}\n", name, exact, on_cpu, emulated);
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
