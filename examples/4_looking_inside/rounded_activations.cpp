// Saves activations as bf16 for the backward: half the memory, at the price of about one percent error in the
// gradients.
#include <tapeformer.h>

#include <any>
#include <bit>
#include <iostream>
#include <vector>

using namespace tape;

namespace {

/// The values of a tensor, each rounded to the upper 16 of its 32 bits.
struct Rounded {
  Shape shape;
  std::vector<uint16_t> halves;
};

int64_t packed_bytes = 0;

std::any pack(const Tensor& x) {
  Rounded rounded{x.shape(), {}};
  rounded.halves.reserve(static_cast<size_t>(x.numel()));
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(x.data<float>()[i]);
    rounded.halves.push_back(static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
  }
  packed_bytes += 2 * x.numel();
  return rounded;
}

Tensor unpack(const std::any& packed) {
  const auto& [shape, halves] = std::any_cast<const Rounded&>(packed);
  Tensor x = empty(shape);
  float* to = x.mutable_data<float>();
  for (const uint16_t half : halves) *to++ = std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
  return x;
}

/// Returns the gradient of the first parameter and prints the memory that the tape uses.
Tensor gradient(const char* format, nn::Encoder& encoder, const Tensor& x) {
  packed_bytes = 0;
  const int64_t before = memory_stats().live_bytes;
  const Tensor loss = mean(square(encoder(x) - cos(x)));
  const int64_t saved = memory_stats().live_bytes - before + packed_bytes;
  std::cout << "activations in " << format << ": " << saved / 1024 << " KiB saved, loss " << loss.item() << "\n";
  encoder.zero_grad();
  loss.backward();
  return encoder.named_parameters().front().tensor.grad().clone();
}

}  // namespace

int main() {
  manual_seed(1);
  nn::Encoder encoder(4, {.d_model = 64, .heads = 4, .d_ff = 256, .dropout = 0});
  const Tensor x = randn({8, 32, 64});
  const Tensor exact = gradient("f32 ", encoder, x);
  const SavedTensorHooks hooks(pack, unpack);
  const Tensor rounded = gradient("bf16", encoder, x);
  const auto length = [](const Tensor& g) { return sqrt(sum(square(g))).item(); };
  std::cout << "relative difference of the gradients: " << length(exact - rounded) / length(exact) << "\n";
}
