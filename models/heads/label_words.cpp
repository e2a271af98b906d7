#include "models/heads/label_words.h"

#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/norm/softmax.h"
#include "base/error.h"
#include "models/heads/encoder_batches.h"

namespace tape::models {

std::vector<std::vector<double>> label_words(TokenClassifier& model, std::span<const text::WordIds> sentences,
                                             const ClassifyOptions& options) {
  std::vector<std::vector<int64_t>> ids;
  for (const text::WordIds& sentence : sentences) {
    for (const int64_t place : sentence.places)
      if (place < 0 || place >= std::ssize(sentence.ids))
        raise(ErrorKind::index, "label_words: sentence {} has {} tokens, but a word at {}", ids.size(),
              sentence.ids.size(), place);
    ids.push_back(sentence.ids);
  }
  std::vector<std::vector<double>> found(sentences.size());
  for_each_row(
      "label_words", *model.base, {ids}, options.batch_tokens,
      [&](const Tensor& batch, const Mask& mask, const Tensor& segments) {
        return softmax(cast(model(batch, mask, segments), f64), -1);
      },
      [&](size_t sentence, std::span<const double> row) {
        const auto labels = static_cast<size_t>(model.config().num_labels);
        for (const int64_t place : sentences[sentence].places) {
          const std::span<const double> of_word = row.subspan(static_cast<size_t>(place) * labels, labels);
          found[sentence].insert(found[sentence].end(), of_word.begin(), of_word.end());
        }
      });
  return found;
}

}  // namespace tape::models
