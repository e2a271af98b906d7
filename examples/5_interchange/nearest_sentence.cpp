// Prints the five sentences closest in meaning to a query, by a sentence encoder such as all-MiniLM-L6-v2. Also saves
// the embeddings of all sentences if given a file name:
//   nearest_sentence MODEL_FOLDER "A query." [embeddings.safetensors] < sentences.txt
#include <tapeformer.h>

#include <algorithm>
#include <iostream>
#include <numeric>

#include <fmt/format.h>

using namespace tape;

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "usage: nearest_sentence MODEL_FOLDER QUERY [embeddings.safetensors] < sentences\n";
    return 2;
  }
  const auto model = models::load_sentence_encoder(argv[1]);
  const auto tokenizer = text::load_tokenizer(argv[1]);
  std::vector<std::string> sentences;
  for (std::string line; std::getline(std::cin, line);) sentences.push_back(line);
  if (sentences.empty()) return 0;

  const auto embed = [&](const std::vector<std::string>& texts) { return models::embed(*model, *tokenizer, texts); };
  const Tensor all = embed(sentences), query = embed({argv[2]});  // [sentences, C], [1, C]
  const auto likeness =
      matmul(normalize(all, -1), normalize(query, -1), {.transpose_b = true}).to(f64).to_vector<double>();  // cosine
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return likeness[a] > likeness[b]; });
  for (size_t i = 0; i < std::min<size_t>(5, order.size()); ++i)
    fmt::print("{:6.3f}  {}\n", likeness[order[i]], sentences[order[i]]);
  if (argc > 3) save_safetensors(argv[3], std::map<std::string, Tensor>{{"embeddings", all}});
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
