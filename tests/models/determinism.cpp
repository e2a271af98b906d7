// Training and decoding depend only on the seed, not on the number of threads, with each kernel level that this machine
// can run. Different levels agree up to rounding.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/kernels/product/common/bf16_backend.h"
#include "autograd/kernels/runtime/common/isa.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/shape.h"
#include "models/decoders/gpt.h"
#include "models/decoding/beam.h"
#include "models/decoding/generate.h"
#include "models/decoding/greedy.h"
#include "models/encoder_decoders/transformer.h"
#include "optim/adam.h"
#include "optim/schedule.h"

namespace tape::models {
namespace {

/// Sizes at which products, attention and element-wise kernels use several threads, if they ever do.
TransformerConfig threaded_config() {
  return {.src_vocab = 200,
          .tgt_vocab = 200,
          .d_model = 64,
          .layers = 1,
          .heads = 4,
          .d_ff = 256,
          .dropout = 0.2,
          .max_length = 32};
}

Tensor loss_of(Transformer& model, Generator& data) {
  const Tensor src = randint(0, 200, {8, 16}, data), tgt = randint(0, 200, {8, 17}, data);
  const Tensor logits = model(src, slice(tgt, 1, {.start = 0, .end = 16}));
  return cross_entropy(logits, slice(tgt, 1, {.start = 1, .end = 17}), {.ignore_index = 0, .label_smoothing = 0.1});
}

/// The weights after ten steps with dropout.
Tensors train(uint64_t seed) {
  manual_seed(seed);
  Transformer model(threaded_config());
  optim::Adam adam(model.parameters(), {.betas = {0.9, 0.98}, .eps = 1e-9});
  optim::NoamSchedule schedule(adam, {.d_model = 64, .warmup = 5});
  Generator data(99);
  for (int step = 0; step < 10; ++step) {
    const Tensor loss = loss_of(model, data);
    adam.zero_grad();
    loss.backward();
    adam.step();
    schedule.step();
  }
  return model.parameters();
}

/// The loss and gradients of the first step.
Tensors first_step() {
  manual_seed(7);
  Transformer model(threaded_config());
  Generator data(99);
  const Tensor loss = loss_of(model, data);
  loss.backward();
  Tensors all{loss.detach()};
  for (const Tensor& parameter : model.parameters()) all.push_back(parameter.grad());
  return all;
}

bool same_bits(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a[i].raw(), b[i].raw(), static_cast<size_t>(a[i].numel() * size_of(a[i].dtype()))) != 0)
      return false;
  return true;
}

/// Norm of the difference of all values, relative to their norm.
double relative_difference(const Tensors& a, const Tensors& b) {
  double difference = 0, length = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (int64_t j = 0; j < a[i].numel(); ++j) {
      const double x = a[i].data<float>()[j], y = b[i].data<float>()[j];
      difference += (x - y) * (x - y);
      length += x * x;
    }
  }
  return std::sqrt(difference / length);
}

/// The decoded tokens and the bits of their scores.
struct Said {
  std::vector<std::vector<int64_t>> greedy;
  std::vector<std::vector<std::pair<std::vector<int64_t>, double>>> beams;
  std::vector<std::vector<int64_t>> sampled;
  bool operator==(const Said&) const = default;
};

Said decode(uint64_t seed) {
  manual_seed(seed);
  Transformer model(threaded_config());
  Gpt gpt({.vocab = 200, .d_model = 64, .layers = 1, .heads = 4, .max_length = 32});
  model.eval();
  gpt.eval();
  Generator data(5);
  const Tensor src = randint(1, 200, {12, 24}, data);
  Said said{.greedy = greedy_decode(model, src, {.max_length = 12}), .beams = {}, .sampled = {}};
  for (const auto& row : beam_search(model, src, {.beams = 4, .n_best = 2, .max_length = 12})) {
    said.beams.emplace_back();
    for (const BeamHypothesis& hypothesis : row) said.beams.back().emplace_back(hypothesis.tokens, hypothesis.score);
  }
  std::vector<std::vector<int64_t>> sources;
  for (int64_t row = 0; row < 12; ++row) sources.push_back(src[row].to_vector<int64_t>());
  for (const Continuation& text : generate(gpt, sources, {.max_new_tokens = 12, .seed = seed}))
    said.sampled.push_back(text.tokens);
  return said;
}

/// While in scope, selects a kernel level and a backend for bf16 products.
class Kernels {
 public:
  Kernels(kernels::Isa isa, kernels::Bf16Backend backend) {
    kernels::set_isa(isa);
    kernels::set_bf16_backend(backend);
  }
  ~Kernels() {
    kernels::set_isa(isa_);
    kernels::set_bf16_backend(backend_);
    kernels::set_num_threads(threads_);
  }

 private:
  const kernels::Isa isa_ = kernels::isa();
  const kernels::Bf16Backend backend_ = kernels::bf16_backend();
  const int threads_ = kernels::num_threads();
};

template <class Call>
auto with_threads(int count, const Call& call) {
  kernels::set_num_threads(count);
  return call();
}

int64_t threads_of_process() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

struct Choice {
  kernels::Isa isa;
  kernels::Bf16Backend backend;
  MatmulPrecision precision;
};

/// Every level in f32; the lower precisions with every backend that this CPU has, at the highest level. (The emulation
/// of tiles gives the same bits as the tiles, as the kernels' own tests check, and would take minutes here.)
std::vector<Choice> choices() {
  using kernels::Bf16Backend, kernels::Isa;
  using enum MatmulPrecision;
  std::vector<Choice> all;
  for (const Isa isa : {Isa::portable, Isa::v2, Isa::v3, Isa::v4})
    if (kernels::has_level(isa)) all.push_back({isa, Bf16Backend::none, highest});
  const Isa best = kernels::supported_isa();
  if (kernels::supported_bf16_backend() >= Bf16Backend::avx512) all.push_back({best, Bf16Backend::avx512, medium});
  if (kernels::supported_bf16_backend() >= Bf16Backend::tiles)
    all.insert(all.end(), {{best, Bf16Backend::tiles, high}, {best, Bf16Backend::tiles, medium}});
  return all;
}

std::string choice_name(const testing::TestParamInfo<Choice>& choice) {
  const kernels::Bf16Backend backend = choice.param.backend;
  const char* name = backend == kernels::Bf16Backend::none     ? "f32"
                     : backend == kernels::Bf16Backend::avx512 ? "avx512"
                                                               : "tiles";
  return fmt::format("{}_{}_{}", to_string(choice.param.isa), name, to_string(choice.param.precision));
}

class Determinism : public testing::TestWithParam<Choice> {
 protected:
  const Kernels kernels_{GetParam().isa, GetParam().backend};
  const MatmulPrecisionScope precision_{GetParam().precision};
};

TEST_P(Determinism, HoldsForWeightsAfterTraining) {
  const auto with = [](int count, uint64_t seed) { return with_threads(count, [&] { return train(seed); }); };
  const Tensors weights = with(1, 7);
  EXPECT_TRUE(same_bits(weights, with(1, 7))) << "a second run";
  EXPECT_TRUE(same_bits(weights, with(2, 7))) << "two threads";
  EXPECT_TRUE(same_bits(weights, with(4, 7))) << "four threads";
  EXPECT_GE(threads_of_process(), 4) << "nothing ran on four threads";
  EXPECT_FALSE(same_bits(weights, with(1, 8))) << "another seed";
}

TEST_P(Determinism, HoldsForDecoding) {
  const Said said = with_threads(1, [] { return decode(3); });
  EXPECT_TRUE(said == with_threads(2, [] { return decode(3); })) << "two threads";
  EXPECT_TRUE(said == with_threads(4, [] { return decode(3); })) << "four threads";
  EXPECT_FALSE(said == with_threads(1, [] { return decode(4); })) << "another seed";
}

INSTANTIATE_TEST_SUITE_P(Choices, Determinism, testing::ValuesIn(choices()), choice_name);

/// docs/guide/reliability.md states the bounds.
TEST(DeterminismOfLevels, HoldsUpToRounding) {
  const auto of = [](const Choice& choice) {
    const Kernels kernels(choice.isa, choice.backend);
    const MatmulPrecisionScope precision(choice.precision);
    return first_step();
  };
  const Tensors best = of({kernels::supported_isa(), kernels::Bf16Backend::none, MatmulPrecision::highest});
  for (const Choice& choice : choices()) {
    const double bound = choice.precision == MatmulPrecision::highest ? 1e-6
                         : choice.precision == MatmulPrecision::high  ? 2e-5
                                                                      : 5e-2;
    const Tensors other = of(choice);
    const std::string name = choice_name({choice, 0});
    const double difference = relative_difference(best, other), loss = best[0].item();
    RecordProperty(name, fmt::format("{:.1e}", difference));
    EXPECT_LE(difference, bound) << name;
    EXPECT_NEAR(other[0].item(), loss, bound * loss) << name;
  }
}

}  // namespace
}  // namespace tape::models
