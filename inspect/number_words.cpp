#include "inspect/number_words.h"

#include <ostream>

#include "autograd/create.h"
#include "autograd/ops/reduce/reduce.h"
#include "inspect/attention_picture.h"
#include "nn/attention/attention_weights.h"
#include "text/number_words.h"

namespace tape::inspect {

void show_translations(train::NumberWordsModel& model, const std::vector<int64_t>& numbers, std::ostream& out) {
  std::vector<std::string> words;
  words.reserve(numbers.size());
  for (int64_t number : numbers) words.push_back(text::german_number(number));
  const std::vector<std::string> translations = model.translate(words);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::string right = text::english_number(numbers[i]);
    out << fmt::format("{:>8}  {}\n          {}\n", numbers[i], words[i], translations[i]);
    if (translations[i] != right) out << fmt::format("          should be: {}\n", right);
  }
}

void show_attention(train::NumberWordsModel& model, int64_t number, std::ostream& out, const TerminalInfo& terminal) {
  std::vector<std::string> sources = text::split_german(text::german_number(number));
  std::vector<std::string> targets = text::split_english(text::english_number(number));
  const std::vector<int64_t> src = model.tokenizer->encode(text::german_number(number)).ids;
  std::vector<int64_t> fed =
      model.tokenizer->target().encode(text::english_number(number), {.add_special_tokens = false}).ids;
  fed.insert(fed.begin(), text::Vocabulary::bos);

  const NoGrad no_grad;
  model.model->eval();
  const nn::MultiHeadAttention& attention =
      *model.model->decoder->layers[model.model->config().layers - 1]->cross_attention;
  const nn::AttentionWeights kept(*model.model, {&attention});
  (*model.model)(from_vector(src, {1, std::ssize(src)}), from_vector(fed, {1, std::ssize(fed)}));
  const Tensor weights = mean(kept.of(attention), {0, 1}).to(f64);  // [Tq, Tk]

  sources.emplace_back("<end>");
  targets.emplace_back("<end>");
  out << attention_picture({weights.data<double>(), static_cast<size_t>(weights.numel())}, targets, sources,
                           {.title = "Where the decoder looks (last layer's cross-attention, mean of heads):",
                            .colors = terminal.colors,
                            .columns = terminal.columns});
}

}  // namespace tape::inspect
