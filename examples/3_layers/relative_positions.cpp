// What relative positions are for: a layer that learns to look two tokens back does so at any position, also in
// sequences four times as long as those it was trained on. With absolute positions it does not.
#include <tapeformer.h>

#include <fmt/core.h>
#include <cmath>

using namespace tape;

constexpr int64_t padding = 0, vocab = 12, width = 32, heads = 2, back = 2;

// Relative positions as in T5: a trained bias for each distance and head, added to the scores. All distances from 8 on
// share one bias, so that sequences of 12 tokens train every bias.
struct BiasedAttention : nn::Module {
  nn::Child<nn::RelativeBias> bias{this, "bias", heads, {.buckets = 16, .max_distance = 8}};
  nn::Child<nn::MultiHeadAttention> attention{this, "attention", width, heads,
                                              nn::MultiHeadAttentionOptions{.scale = 1}};
  Tensor forward(const Tensor& x, const Mask& mask) {  // [B, T, C]
    return attention(x, Mask::additive(bias(x.size(1), x.size(1))) & mask);
  }
};

// Absolute positions: sines and cosines of the position, added to the embedding.
struct AbsoluteAttention : nn::Module {
  nn::Child<nn::PositionalEncoding> positions{this, "positions", width, 5000};
  nn::Child<nn::MultiHeadAttention> attention{this, "attention", width, heads};
  Tensor forward(const Tensor& x, const Mask& mask) { return attention(positions(x), mask); }  // [B, T, C]
};

// One encoder layer between ids and logits. Its attention provides the position information.
template <class Attention>
struct Tagger : nn::Layer<Tagger<Attention>> {
  template <class... A>
  explicit Tagger(const A&... attention_options) : attention(this, "attention", attention_options...) {}

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

// Random ids and, as the target of each position, the id two positions before it.
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
  const Tensor valid = ne(batch.target, 0),
               correct = logical_and(valid, eq(argmax(model(batch.ids), -1), batch.target));
  return sum(correct).item() / sum(valid).item();
}

// Whether the output of five tokens changes when they move from the beginning to the end of a padded row.
template <class Model>
bool depends_on_shift(Model& model) {
  const NoGrad no_grad;
  const Tensor y = model(tensor({{7, 3, 9, 4, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 7, 3, 9, 4, 1}}, i64));
  const Tensor first = slice(y[0], 0, {.end = 5}), last = slice(y[1], 0, {.start = 4});
  return max(abs(first - last)).item() > 1e-3;
}

const char* accuracy_range(double accuracy) {
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
  fmt::print("{:23} {:15} {:11} {}\n", name, depends_on_shift(model) ? "no" : "yes", accuracy_range(as_trained),
             accuracy_range(longer));
  return as_trained > 0.98 && (extrapolates ? longer > 0.98 : longer < 0.6);
}

int main() {
  manual_seed(1);
  fmt::print("accuracy of outputting the token two positions back (trained on 12 tokens)\n");
  fmt::print("{:23} {:15} {:11} {}\n", "positions", "shift-invariant", "12 tokens", "48 tokens");
  const nn::RelativeAttentionOptions near{.max_distance = 4};
  const bool shaw = train_and_show("relative, Shaw et al.", Tagger<nn::RelativeAttention>(width, heads, near), true);
  const bool t5 = train_and_show("relative, T5", Tagger<BiasedAttention>(), true);
  const bool absolute = train_and_show("absolute, sinusoids", Tagger<AbsoluteAttention>(), false);
  return shaw && t5 && absolute ? 0 : 1;
}
