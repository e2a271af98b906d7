#include "tools/label_words.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/number_text.h"
#include "models/folders/tokenizer_fit.h"
#include "text/json.h"
#include "text/tokenizers/load_tokenizer.h"
#include "tools/terminal/lines.h"

namespace tape::tools {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  constexpr const char* kBlanks = " \t";
  std::vector<std::string> words;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

}  // namespace

WordLabeler::WordLabeler(const ClassifyArguments& arguments, std::unique_ptr<models::TokenClassifier> model)
    : arguments_(arguments),
      model_(std::move(model)),
      tokenizer_(text::load_tokenizer(arguments.model)),
      names_(model_->config().label_names()) {
  if (arguments.pair)
    raise(ErrorKind::config, "--pair: {} is a TokenClassifier, which reads one text per line", arguments.model);
  models::check_tokenizer_fits(arguments.model, *tokenizer_, "vocab_size", model_->base->vocab());
}

text::WordIds WordLabeler::encoded(const std::vector<std::string>& words) {
  const std::string text = text::joined_words(words);
  text::Encoding encoding = tokenizer_->encode(text);
  read_.unknown.add(*tokenizer_, encoding, text);
  if (std::ssize(encoding.ids) > model_->base->max_length()) {
    ++read_.cut;
    encoding = tokenizer_->encode(text, {.max_length = model_->base->max_length()});
  }
  return text::align_words(words, encoding);
}

std::string WordLabeler::lines(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> words;
  std::vector<text::WordIds> placed;
  for (const std::string& text : texts) {
    words.push_back(words_of(text));
    ++read_.count;
    read_.empty += words.back().empty() ? 1 : 0;
    placed.push_back(words.back().empty() ? text::WordIds() : encoded(words.back()));
    words_ += std::ssize(words.back());
    without_ += std::ssize(words.back()) - std::ssize(placed.back().words);
  }
  const std::vector<std::vector<double>> found = models::label_words(*model_, placed, arguments_.options);
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<Probabilities> of_words(words[i].size());
    const auto labels = static_cast<int64_t>(names_.size());
    for (size_t k = 0; k < placed[i].words.size(); ++k) {
      const auto first = found[i].begin() + static_cast<int64_t>(k) * labels;
      of_words[static_cast<size_t>(placed[i].words[k])].assign(first, first + labels);
    }
    out += arguments_.common.json ? json(words[i], of_words) : plain(words[i], of_words);
  }
  return out;
}

void WordLabeler::report() const {
  read_.report(model_->base->max_length());
  if (without_ > 0)
    std::cerr << fmt::format("tapeformer: {} of {} have no label because none of their tokens was read\n",
                             grouped(without_), counted(words_, "word"));
}

std::string WordLabeler::plain(const std::vector<std::string>& words, const std::vector<Probabilities>& found) const {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    out += words[i] + '\t';
    if (arguments_.all)
      out += ranked_text(names_, found[i], true);
    else
      out += (found[i].empty() ? "" : one_line(names_[models::ranked_labels(found[i]).front()])) + '\n';
  }
  return out += '\n';
}

std::string WordLabeler::json(const std::vector<std::string>& words, const std::vector<Probabilities>& found) const {
  nlohmann::ordered_json line{{"tokens", words},
                              {"labels", nlohmann::ordered_json::array()},
                              {"probabilities", nlohmann::ordered_json::array()}};
  for (const Probabilities& p : found) {
    const std::vector<size_t> order = models::ranked_labels(p);
    line["labels"].push_back(order.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(names_[order.front()]));
    line["probabilities"].push_back(order.empty() ? nlohmann::ordered_json()
                                                  : nlohmann::ordered_json(p[order.front()]));
  }
  return dump_json(line) + '\n';
}

}  // namespace tape::tools
