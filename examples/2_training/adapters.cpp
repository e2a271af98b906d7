// A small GPT learns the names of English numbers; adapters on it learn German ones, and it still knows the English.
#include <tapeformer.h>

#include <cmath>

#include <fmt/core.h>

using namespace tape;

namespace {

constexpr int64_t length = 32, rows = 16;

/// One name a line, in the order of the numbers.
template <class Name>
std::string lines(Name&& name) {
  std::string text;
  for (int64_t n = 0; n < 200; ++n) text += name(n) + "\n";
  return text;
}

/// Windows of a text, each with the same window one character on.
std::pair<Tensor, Tensor> windows(const std::vector<int64_t>& ids, Generator& draws) {
  std::vector<int64_t> in, out;
  for (const int64_t start : randint(0, std::ssize(ids) - length, {rows}, draws).to_vector<int64_t>()) {
    in.insert(in.end(), ids.begin() + start, ids.begin() + start + length);
    out.insert(out.end(), ids.begin() + start + 1, ids.begin() + start + length + 1);
  }
  return {from_vector(in, {rows, length}), from_vector(out, {rows, length})};
}

double loss_on(models::Gpt& model, const std::vector<int64_t>& ids) {
  const NoGrad no_grad;
  Generator draws(3);
  const auto [in, out] = windows(ids, draws);
  return cross_entropy(model(in), out).item();
}

/// Trains what of the model has gradients.
void learn(models::Gpt& model, const std::vector<int64_t>& ids, int64_t steps, double lr) {
  Tensors trained;
  for (const Tensor& parameter : model.parameters())
    if (parameter.requires_grad()) trained.push_back(parameter);
  optim::AdamW adam(trained, {.lr = lr});
  Generator draws(2);
  for (int64_t step = 0; step < steps; ++step) {
    const auto [in, out] = windows(ids, draws);
    adam.zero_grad();
    cross_entropy(model(in), out).backward();
    adam.step();
  }
}

}  // namespace

int main() {
  manual_seed(1);
  const std::string english = lines(text::english_number), german = lines(text::german_number);
  const auto tokenizer = text::character_tokenizer(english + german);
  const auto of_english = tokenizer->encode(english).ids, of_german = tokenizer->encode(german).ids;
  models::Gpt model({.vocab = tokenizer->vocab_size(),
                     .d_model = 64,
                     .layers = 2,
                     .heads = 4,
                     .max_length = length,
                     .dropout = 0,
                     .attention_dropout = 0,
                     .embedding_dropout = 0});
  learn(model, of_english, 200, 3e-3);
  fmt::print("{} parameters; loss on English {:.1f}, on German {:.1f}\n", model.parameter_count(),
             loss_on(model, of_english), loss_on(model, of_german));

  const auto adapted = nn::add_adapter(model, "german", {.rank = 4, .alpha = 8}, {"query", "value", "feed_forward"});
  nn::train_adapters_only(model);
  learn(model, of_german, 200, 1e-2);
  fmt::print("{} layers adapted, {} parameters trained; on German {:.1f}\n", adapted.size(),
             model.trainable_parameter_count(), loss_on(model, of_german));

  nn::activate_adapter(model, "");
  fmt::print("without the adapters: on English {:.1f}\n", loss_on(model, of_english));

  nn::activate_adapter(model, "german");
  const double before = loss_on(model, of_german);
  nn::merge_adapters(model);
  fmt::print("merged into the weights, the loss is {}\n",
             std::abs(loss_on(model, of_german) - before) < 1e-4 ? "the same" : "another");
}
