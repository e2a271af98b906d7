// Finds the sentences that mean nearly the same as another one, with a sentence encoder such as all-MiniLM-L6-v2:
//   nearest_sentence MODEL_FOLDER "A query." [embeddings.safetensors] < sentences.txt
#include <tapeformer.h>

#include <algorithm>
#include <iostream>
#include <numeric>

using namespace tape;

// The mean over the tokens of BERT's last hidden states, with length 1: texts -> [texts, C].
Tensor embed(models::Bert& bert, const text::Tokenizer& tokenizer, std::span<const std::string> texts) {
  const NoGrad no_grad;
  Tensors batches;
  for (size_t first = 0; first < texts.size(); first += 32) {
    const auto some = texts.subspan(first, std::min<size_t>(32, texts.size() - first));
    std::vector<int64_t> ids, seen;
    const auto encodings = tokenizer.encode_batch(some, {.max_length = 256});
    for (const text::Encoding& encoding : encodings) {
      ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
      seen.insert(seen.end(), encoding.attention_mask.begin(), encoding.attention_mask.end());
    }
    const Shape shape{std::ssize(some), std::ssize(encodings.front().ids)};
    const Mask mask = Mask::padding(from_vector(seen, shape), 0);
    const Tensor mean = nn::mean_pool(bert(from_vector(ids, shape), mask), mask);  // [B, C]
    batches.push_back(mean / sqrt(sum(square(mean), {-1}, Dims::keep)));
  }
  return cat(batches);
}

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "usage: nearest_sentence MODEL_FOLDER QUERY [embeddings.safetensors] < sentences\n";
    return 2;
  }
  const auto bert = models::load<models::Bert>(argv[1]);
  const auto tokenizer = text::load_tokenizer(argv[1]);
  std::vector<std::string> sentences;
  for (std::string line; std::getline(std::cin, line);) sentences.push_back(line);
  if (sentences.empty()) return 0;

  const Tensor all = embed(*bert, *tokenizer, sentences);                                       // [sentences, C]
  const Tensor query = embed(*bert, *tokenizer, std::vector<std::string>{argv[2]});             // [1, C]
  const auto likeness = matmul(all, query, {.transpose_b = true}).to(f64).to_vector<double>();  // cosines
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
