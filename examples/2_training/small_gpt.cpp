// Trains a character-level GPT on a nursery rhyme in a few seconds and lets it continue two prompts.
#include <tapeformer.h>

#include <fmt/core.h>

using namespace tape;

constexpr const char* rhyme =
    "This is the house that Jack built.\n"
    "This is the malt that lay in the house that Jack built.\n"
    "This is the rat that ate the malt that lay in the house that Jack built.\n"
    "This is the cat that killed the rat that ate the malt that lay in the house that Jack built.\n";

int main() {
  manual_seed(1);
  const auto tokenizer = text::character_tokenizer(rhyme);
  const std::vector<int64_t> ids = tokenizer->encode(rhyme).ids;
  constexpr int64_t length = 64, rows = 12;

  models::Gpt model({.vocab = tokenizer->vocab_size(),
                     .d_model = 64,
                     .layers = 2,
                     .heads = 4,
                     .max_length = length,
                     .dropout = 0,
                     .attention_dropout = 0,
                     .embedding_dropout = 0});
  fmt::print("{} characters, {} distinct; {} parameters\n", ids.size(), tokenizer->vocab_size() - 1,
             model.parameter_count());

  // Windows of the text [rows, length]. The targets are the same windows shifted by one character.
  Generator draws(2);
  const auto window = [&](const std::vector<int64_t>& starts, int64_t shift) {
    std::vector<int64_t> taken;
    for (const int64_t start : starts)
      taken.insert(taken.end(), ids.begin() + start + shift, ids.begin() + start + shift + length);
    return from_vector(taken, {rows, length});
  };

  optim::AdamW adam(model.parameters(), {.lr = 3e-3});
  optim::CosineSchedule schedule(adam, {.warmup = 20, .total = 200});
  double loss_value = 0;
  for (int64_t step = 1; step <= 200; ++step) {
    const auto starts = randint(0, std::ssize(ids) - length, {rows}, draws).to_vector<int64_t>();
    const Tensor loss = cross_entropy(model(window(starts, 0)), window(starts, 1));
    adam.zero_grad();
    loss.backward();
    optim::clip_grad_norm(model.parameters(), 1.0);
    adam.step();
    schedule.step();
    loss_value = loss.item();
  }
  fmt::print("loss per character: {}\n", loss_value < 0.2 ? "below 0.2" : "0.2 or more");

  model.eval();
  for (const char* prompt : {"This is the cat", "the malt"}) {
    const auto replies = models::generate(model, {tokenizer->encode(prompt).ids},
                                          {.sampling = {.temperature = 0},
                                           .stop_ids = tokenizer->encode("\n").ids,
                                           .vocabulary = tokenizer->vocab_size()});
    fmt::print("[{}]{}\n", prompt, tokenizer->decode(replies[0].tokens));
  }
  return loss_value < 0.2 ? 0 : 1;
}
