// Trains a tokenizer on the lines of a file and saves a folder that load_tokenizer and transformers can read. Prints
// how the tokenizer processes the first line:
//   train_tokenizer text.txt out byte_level_bpe|unigram|bpe 8000
#include <tapeformer.h>

#include <fstream>
#include <iostream>

using namespace tape;

std::unique_ptr<text::Tokenizer> learn(const std::vector<std::string>& lines, const std::string& kind, int64_t size) {
  if (kind == "byte_level_bpe") return text::train_byte_level_bpe(lines, {.vocab_size = size});
  const auto model = kind == "bpe" ? text::SentencePieceKind::bpe : text::SentencePieceKind::unigram;
  return text::train_sentencepiece(lines, {.vocab_size = size, .kind = model});
}

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: train_tokenizer FILE FOLDER byte_level_bpe|unigram|bpe SIZE\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  try {
    const auto tokenizer = learn(lines, argv[3], std::atoll(argv[4]));
    tokenizer->save(argv[2]);
    for (const std::string& step : tokenizer->explain(lines.at(0))) std::cout << step << "\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
