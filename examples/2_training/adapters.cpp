// Trains a small GPT on English number words, then LoRA adapters on German ones. Without the adapters, the model still
// knows the English words.
#include <tapeformer.h>

#include <cmath>
#include <iomanip>
#include <iostream>

using namespace tape;

namespace {

constexpr int64_t length = 32, rows = 16;

/// The names of 0 to 199, one per line.
template <class Name>
std::string lines(Name&& name) {
  std::string text;
  for (int64_t n = 0; n < 200; ++n) text += name(n) + "\n";
  return text;
}

/// Random windows of a text and, as targets, the same windows shifted by one character: both [rows, length].
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

/// Trains the parameters that require gradients.
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
  const auto english_ids = tokenizer->encode(english).ids, german_ids = tokenizer->encode(german).ids;
  models::Gpt model({.vocab = tokenizer->vocab_size(),
                     .d_model = 64,
                     .layers = 2,
                     .heads = 4,
                     .max_length = length,
                     .dropout = 0,
                     .attention_dropout = 0,
                     .embedding_dropout = 0});
  learn(model, english_ids, 200, 3e-3);
  std::cout << std::fixed << std::setprecision(1) << model.parameter_count() << " parameters; loss on English "
            << loss_on(model, english_ids) << ", on German " << loss_on(model, german_ids) << "\n";

  const auto adapted = nn::add_adapter(model, "german", {.rank = 4, .alpha = 8}, {"query", "value", "feed_forward"});
  nn::train_adapters_only(model);
  learn(model, german_ids, 200, 1e-2);
  std::cout << adapted.size() << " layers adapted, " << model.trainable_parameter_count()
            << " parameters trained; loss on German " << loss_on(model, german_ids) << "\n";

  nn::activate_adapter(model, "");
  std::cout << "without the adapters: loss on English " << loss_on(model, english_ids) << "\n";

  nn::activate_adapter(model, "german");
  const double before = loss_on(model, german_ids);
  nn::merge_adapters(model);
  const bool same = std::abs(loss_on(model, german_ids) - before) < 1e-4;
  std::cout << "after merging into the weights, the loss is " << (same ? "the same" : "different") << "\n";
}
