// Trains a translator from two text files. One call provides the tokenizer, batches, validation, checkpoints and a
// report. The files contain number words here; any two files whose lines correspond will do.
#include <tapeformer.h>

#include <filesystem>
#include <fstream>
#include <iostream>

using namespace tape;

int main() {
  const std::string folder = "runs/number-translator";
  std::filesystem::create_directories(folder);
  std::ofstream german(folder + "/train.de"), english(folder + "/train.en"), valid(folder + "/valid.tsv");
  for (int64_t n = 0; n < 1000; ++n) {
    if (n % 50 == 27)
      valid << text::german_number(n) << "\t" << text::english_number(n) << "\n";
    else
      german << text::german_number(n) << "\n", english << text::english_number(n) << "\n";
  }
  german.close(), english.close(), valid.close();

  const train::TranslationResult result = train::train_translation(
      {.run = {.out = folder + "/run", .start = train::Start::overwrite, .steps = 300, .lr = 2e-3, .dropout = 0},
       .train = {.src = folder + "/train.de", .tgt = folder + "/train.en"},
       .valid = {.tsv = folder + "/valid.tsv"},
       .vocab_size = 150,
       .batch_tokens = 512},
      std::cerr, terminal_info(2));

  const auto model = models::load<models::Transformer>(folder + "/run");
  const auto tokenizer = text::Marian::load(folder + "/run");
  const std::vector<std::vector<int64_t>> sources{tokenizer->encode("siebenhundertsiebenundzwanzig").ids};
  const auto translations = models::translate(*model, sources, {.beams = 4});
  std::cout << tokenizer->target().decode(translations[0][0].tokens) << "\n";
  const bool learned = result.valid_loss < 0.3;
  std::cout << "validation loss " << (learned ? "below" : "above") << " 0.3 per token\n";
  return learned ? 0 : 1;
}
