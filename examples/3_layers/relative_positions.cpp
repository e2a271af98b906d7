// What relative positions are for: a layer that learns to look two tokens back does so at any place and in texts four
// times as long as those it was trained on. With absolute positions it does not.
#include <tapeformer.h>

#include <fmt/core.h>
#include <cmath>

using namespace tape;

constexpr int64_t padding = 0, vocab = 12, width = 32, heads = 2, back = 2;

// The relative positions of T5: a trained bias for each distance and head, added to the scores. From 8 on all distances
// share one, so that texts of 12 tokens train them all.
struct BiasedAttention : nn::Module {
  nn::Child<nn::RelativeBias> bias{this, "bias", heads, {.buckets = 16, .max_distance = 8}};
  nn::Child<nn::MultiHeadAttention> attention{this, "attention", width, heads,
                                              nn::MultiHeadAttentionOptions{.scale = 1}};
  Tensor forward(const Tensor& x, const Mask& mask) {  // [B, T, C]
    return attention(x, Mask::additive(bias(x.size(1), x.size(1))) & mask);
  }
};

// Absolute positions: sines and cosines of each place, added to what stands there.
struct AbsoluteAttention : nn::Module {
  nn::Child<nn::PositionalEncoding> positions{this, "positions", width, 5000};
  nn::Child<nn::MultiHeadAttention> attention{this, "attention", width, heads};
  Tensor forward(const Tensor& x, const Mask& mask) { return attention(positions(x), mask); }  // [B, T, C]
};

// One encoder layer between ids and logits; how it knows about positions is up to its attention.
template <class Attention>
struct Tagger : nn::Layer<Tagger<Attention>> {
  template <class... A>
  explicit Tagger(const A&... of_attention) : attention(this, "attention", of_attention...) {}

  nn::Child<nn::Embedding> embedding{this, "embedding", vocab, width};
  nn::Child<Attention> attention;
  nn::Child<nn::LayerNorm> norm{this, "norm", width};
  nn::Child<nn::FeedForward> feed_forward{this, "feed_forward", width, 2 * width};
  nn::Child<nn::Linear> output{this, "output", width, vocab};

  Tensor forward(const Tensor& ids) {  // [B, T]
    const Tensor x = embedding(ids) * std::sqrt(width);
    const Tensor h = norm(x + attention(x, Mask::padding(ids, padding)));
    return output(h + feed_forward(h));  // [B, T, V]
  }
};

// Random ids, and for each place the id that stands two places before.
struct Batch {
  Tensor ids, target;
};
Batch make_batch(int64_t rows, int64_t length, Generator& draws) {
  const Tensor ids = randint(1, vocab, {rows, length}, draws);
  return {ids, cat({full({rows, back}, padding, i64), slice(ids, 1, {.end = length - back})}, 1)};
}

template <class Model>
double accuracy(Model& model, int64_t length) {
  Generator draws(5);
  const NoGrad no_grad;
  const Batch batch = make_batch(64, length, draws);
  const Tensor asked = ne(batch.target, 0), right = logical_and(asked, eq(argmax(model(batch.ids), -1), batch.target));
  return sum(right).item() / sum(asked).item();
}

// The same five tokens at the beginning and at the end of a row, the rest padding: does it make a difference?
template <class Model>
bool place_matters(Model& model) {
  const NoGrad no_grad;
  const Tensor y = model(tensor({{7, 3, 9, 4, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 7, 3, 9, 4, 1}}, i64));
  const Tensor first = slice(y[0], 0, {.end = 5}), last = slice(y[1], 0, {.start = 4});
  return max(abs(first - last)).item() > 1e-3;
}

const char* in_words(double accuracy) {
  return accuracy > 0.98 ? "over 98%" : accuracy < 0.6 ? "below 60%" : "60% to 98%";
}

template <class Model>
bool train_and_show(const char* name, Model&& model, bool extrapolates) {
  constexpr int64_t steps = 800;
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  optim::LinearSchedule schedule(adam, {.total = steps});
  Generator draws(3);
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = make_batch(32, 12, draws);
    adam.zero_grad();
    cross_entropy(model(batch.ids), batch.target, {.ignore_index = padding}).backward();
    adam.step();
    schedule.step();
  }
  const double as_trained = accuracy(model, 12), longer = accuracy(model, 48);
  fmt::print("{:23} {:15} {:11} {}\n", name, place_matters(model) ? "no" : "yes", in_words(as_trained),
             in_words(longer));
  return as_trained > 0.98 && (extrapolates ? longer > 0.98 : longer < 0.6);
}

int main() {
  manual_seed(1);
  fmt::print("which token stood two places before?\n");
  fmt::print("{:23} {:15} {:11} {}\n", "positions", "same if moved", "12 tokens", "48 tokens");
  const nn::RelativeAttentionOptions near{.max_distance = 4};
  const bool shaw = train_and_show("relative, Shaw et al.", Tagger<nn::RelativeAttention>(width, heads, near), true);
  const bool t5 = train_and_show("relative, T5", Tagger<BiasedAttention>(), true);
  const bool absolute = train_and_show("absolute, sinusoids", Tagger<AbsoluteAttention>(), false);
  return shaw && t5 && absolute ? 0 : 1;
}
