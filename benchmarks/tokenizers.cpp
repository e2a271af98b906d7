// Loads a tokenizer, encodes the lines of a file and decodes their ids, PASSES times each. Prints for each pass the
// seconds to load, to encode and to decode, and the number of tokens:
//   bench_tokenizers FOLDER FILE PASSES
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/tokenizer.h"

namespace {

template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: bench_tokenizers FOLDER FILE PASSES\n";
    return 2;
  }
  std::ifstream file(argv[2], std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  const int passes = std::atoi(argv[3]);
  std::unique_ptr<tape::text::Tokenizer> tokenizer;
  std::vector<double> loading;
  for (int pass = 0; pass < passes; ++pass)
    loading.push_back(seconds_of([&] { tokenizer = tape::text::load_tokenizer(argv[1]); }));
  for (const double load : loading) {
    std::vector<tape::text::Encoding> encodings;
    size_t tokens = 0, bytes = 0;
    const double encode =
        seconds_of([&] { encodings = tokenizer->encode_batch(lines, {}, {.to = tape::text::Padding::none}); });
    const double decode = seconds_of([&] {
      for (const auto& encoding : encodings) bytes += tokenizer->decode(encoding.ids).size();
    });
    for (const auto& encoding : encodings) tokens += encoding.size();
    std::cout << load << " " << encode << " " << decode << " " << tokens << " " << bytes << "\n";
  }
}
