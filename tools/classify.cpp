#include "tools/classify.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/tape/scope.h"
#include "base/number_text.h"
#include "models/folders/folder.h"
#include "models/folders/tokenizer_fit.h"
#include "text/json.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/tokenizer.h"
#include "tools/commands.h"
#include "tools/label_words.h"
#include "tools/terminal/lines.h"

namespace tape::tools {

void LineStats::report(int64_t longest) const {
  tell(unknown.note());
  if (cut > 0)
    std::cerr << fmt::format("tapeformer: {} of {} lines were truncated to {} tokens\n", grouped(cut), grouped(count),
                             grouped(longest));
  if (empty > 0)
    std::cerr << fmt::format("tapeformer: {} of {} lines were empty and have no label\n", grouped(empty),
                             grouped(count));
}

bool is_blank_line(const std::string& text) { return text.find_first_not_of(" \t") == std::string::npos; }

std::string ranked_text(const std::vector<std::string>& names, const std::vector<double>& probabilities, bool all) {
  std::string out;
  for (const size_t label : models::ranked_labels(probabilities)) {
    out += fmt::format("{}{}\t{:.6f}", out.empty() ? "" : "\t", one_line(names[label]), probabilities[label]);
    if (!all) break;
  }
  return out += '\n';
}

namespace {

/// Classifies lines of text.
class Labels {
 public:
  Labels(const ClassifyArguments& arguments, std::unique_ptr<models::SequenceClassifier> model)
      : arguments_(arguments),
        model_(std::move(model)),
        tokenizer_(text::load_tokenizer(arguments.model)),
        names_(model_->config().label_names()) {
    models::check_tokenizer_fits(arguments.model, *tokenizer_, "vocab_size", model_->base->vocab());
  }

  /// Output for some lines, in input order.
  std::string lines(const std::vector<std::string>& texts) {
    std::vector<std::vector<int64_t>> ids, type_ids;
    for (const std::string& text : texts) {
      ++read_.count;
      text::Encoding encoding = encoded(text);
      ids.push_back(std::move(encoding.ids));
      type_ids.push_back(std::move(encoding.type_ids));
    }
    const bool segments = arguments_.pair && model_->base->segments() > 1;
    std::string out;
    for (const std::vector<double>& p :
         models::classify(*model_, ids, segments ? type_ids : std::vector<std::vector<int64_t>>(), arguments_.options))
      out += arguments_.common.json ? json(p) : ranked_text(names_, p, arguments_.all);
    return out;
  }

  void report() const { read_.report(model_->base->max_length()); }

 private:
  text::Encoding encoded(const std::string& text) {
    if (is_blank_line(text)) {
      ++read_.empty;
      return {};
    }
    const size_t tab = arguments_.pair ? text.find('\t') : std::string::npos;
    if (arguments_.pair && tab == std::string::npos)
      raise(ErrorKind::format, "standard input: line {}: --pair needs two texts separated by a tab", read_.count);
    const auto encode = [&](const text::EncodeOptions& options) {
      return arguments_.pair ? tokenizer_->encode_pair(text.substr(0, tab), text.substr(tab + 1), options)
                             : tokenizer_->encode(text, options);
    };
    text::Encoding encoding = encode({});
    read_.unknown.add(*tokenizer_, encoding, text.substr(0, tab), arguments_.pair ? text.substr(tab + 1) : "");
    const int64_t most = model_->base->max_length();
    if (std::ssize(encoding.ids) <= most) return encoding;
    ++read_.cut;
    return encode({.max_length = most});
  }

  std::string json(const std::vector<double>& p) const {
    nlohmann::ordered_json line{{"label", nullptr}, {"probability", nullptr}};
    const std::vector<size_t> order = models::ranked_labels(p);
    if (!order.empty()) line = {{"label", names_[order.front()]}, {"probability", p[order.front()]}};
    line["probabilities"] = nlohmann::ordered_json::object();
    for (const size_t label : order) line["probabilities"][names_[label]] = p[label];
    return dump_json(line) + '\n';
  }

  const ClassifyArguments& arguments_;
  std::unique_ptr<models::SequenceClassifier> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::vector<std::string> names_;
  LineStats read_;
};

int classify(const ClassifyArguments& arguments) {
  prepare(arguments.common);
  const DeviceScope on_device = use_device(arguments.common);
  const MatmulPrecisionScope precision(arguments.common.matmul_precision());
  models::AnyModel model = models::load_model(arguments.model);
  models::module_of(model).prepare_for_inference();
  if (const auto of_texts = std::get_if<std::unique_ptr<models::SequenceClassifier>>(&model))
    process_lines(arguments.buffer, Labels(arguments, std::move(*of_texts)));
  else if (const auto of_words = std::get_if<std::unique_ptr<models::TokenClassifier>>(&model))
    process_lines(arguments.buffer, WordLabeler(arguments, std::move(*of_words)));
  else
    raise(ErrorKind::config,
          "{}/config.json: is a {}, expected a SequenceClassifier or a TokenClassifier "
          "(BertForSequenceClassification, BertForTokenClassification and similar classes)",
          arguments.model, models::module_of(model).type_name());
  return 0;
}

}  // namespace

void add_classify(Command app) {
  const auto arguments = std::make_shared<ClassifyArguments>();
  Command command = app.subcommand("classify", "Label each line of standard input, or each of its words");
  command.footer(
      "Prints label TAB probability for each line, in input order. An empty line stays empty. A regression model "
      "prints\n"
      "its value. For a multi-label model, --all prints an independent probability for each label.\n"
      "A model that labels words (named entities, parts of speech) splits each line at spaces and prints word TAB "
      "label\n"
      "for each word, then an empty line. Words beyond the model's maximum length have no label.\n"
      "Example: tapeformer classify --model sst2 < reviews.txt");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and tokenizer").required();
  const Option all = command.flag("--all", arguments->all, "Print all labels with probabilities, most likely first");
  command.flag("--pair", arguments->pair, "Each line has two texts separated by a tab");
  command.option("--batch-tokens", arguments->options.batch_tokens, "Tokens per batch").at_least(1);
  command
      .option("--buffer-lines", arguments->buffer,
              "Lines to read before sorting and classifying; 1 answers each line at once, as on a terminal")
      .at_least(1);
  command
      .flag("--json", arguments->common.json,
            "Print one JSON object per line: label, probability, probabilities; for words: tokens, labels, "
            "probabilities")
      .excludes(all);
  add_threads(command, arguments->common);
  add_precision(command, arguments->common);
  add_device(command, arguments->common);
  command.runs([arguments] { return until_closed([&] { return classify(*arguments); }); });
}

}  // namespace tape::tools
