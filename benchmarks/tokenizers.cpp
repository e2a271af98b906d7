// Encodes the lines of a file again and again and prints the seconds of each pass:
//   bench_tokenizers FOLDER FILE PASSES
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "text/load_tokenizer.h"
#include "text/tokenizer.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: bench_tokenizers FOLDER FILE PASSES\n";
    return 2;
  }
  const auto tokenizer = tape::text::load_tokenizer(argv[1]);
  std::ifstream file(argv[2], std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  for (int pass = std::atoi(argv[3]); pass > 0; --pass) {
    const auto start = std::chrono::steady_clock::now();
    const auto encodings = tokenizer->encode_batch(lines, {}, {.to = tape::text::Padding::none});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    size_t tokens = 0;
    for (const auto& encoding : encodings) tokens += encoding.size();
    std::cout << seconds.count() << " " << tokens << "\n";
  }
}
