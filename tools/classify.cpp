#include "tools/classify.h"

#include "base/number_text.h"
#include "models/classify.h"

#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "autograd/tape/scope.h"
#include "models/folder.h"
#include "models/tokenizer_fit.h"
#include "text/load_tokenizer.h"
#include "text/tokenizer.h"
#include "text/unknown_tokens.h"
#include "tools/lines.h"

namespace tape::tools {
namespace {

struct ClassifyArguments {
  std::string model;
  bool all = false, pair = false;
  int64_t buffer = 2000;
  models::ClassifyOptions options;
  Common common;
};

/// Texts to labels.
class Labels {
 public:
  explicit Labels(const ClassifyArguments& arguments)
      : arguments_(arguments),
        model_(models::load<models::SequenceClassifier>(arguments.model)),
        tokenizer_(text::load_tokenizer(arguments.model)),
        names_(model_->config().label_names()) {
    models::check_tokenizer_fits(arguments.model, *tokenizer_, "vocab_size", model_->base->vocab());
  }

  /// Output for some lines, in their order.
  std::string lines(const std::vector<std::string>& texts) {
    std::vector<std::vector<int64_t>> ids, type_ids;
    for (const std::string& text : texts) {
      ++count_;
      text::Encoding encoding = encoded(text);
      ids.push_back(std::move(encoding.ids));
      type_ids.push_back(std::move(encoding.type_ids));
    }
    const bool segments = arguments_.pair && model_->base->segments() > 1;
    std::string out;
    for (const std::vector<double>& p :
         models::classify(*model_, ids, segments ? type_ids : std::vector<std::vector<int64_t>>(), arguments_.options))
      out += arguments_.common.json ? json(p) : plain(p);
    return out;
  }

  /// What was not done in full, for people.
  void report() const {
    if (const std::string note = unknown_.note(); !note.empty()) std::cerr << "tapeformer: " << note << "\n";
    if (cut_ > 0)
      std::cerr << fmt::format("tapeformer: {} of {} lines were cut to {} tokens\n", grouped(cut_), grouped(count_),
                               grouped(model_->base->max_length()));
    if (empty_ > 0)
      std::cerr << fmt::format("tapeformer: {} of {} lines were empty and have no label\n", grouped(empty_),
                               grouped(count_));
  }

 private:
  text::Encoding encoded(const std::string& text) {
    if (text.find_first_not_of(" \t") == std::string::npos) {
      ++empty_;
      return {};
    }
    const size_t tab = arguments_.pair ? text.find('\t') : std::string::npos;
    if (arguments_.pair && tab == std::string::npos)
      raise(ErrorKind::format, "standard input: line {}: no tab between two texts, as --pair needs", count_);
    const auto encode = [&](const text::EncodeOptions& options) {
      return arguments_.pair ? tokenizer_->encode_pair(text.substr(0, tab), text.substr(tab + 1), options)
                             : tokenizer_->encode(text, options);
    };
    text::Encoding encoding = encode({});
    unknown_.add(*tokenizer_, encoding, text.substr(0, tab), arguments_.pair ? text.substr(tab + 1) : "");
    const int64_t most = model_->base->max_length();
    if (std::ssize(encoding.ids) <= most) return encoding;
    ++cut_;
    return encode({.max_length = most});
  }

  std::string plain(const std::vector<double>& p) const {
    std::string out;
    for (const size_t label : models::ranked_labels(p)) {
      out += fmt::format("{}{}\t{:.6f}", out.empty() ? "" : "\t", one_line(names_[label]), p[label]);
      if (!arguments_.all) break;
    }
    return out += '\n';
  }

  std::string json(const std::vector<double>& p) const {
    nlohmann::ordered_json line{{"label", nullptr}, {"probability", nullptr}};
    const std::vector<size_t> order = models::ranked_labels(p);
    if (!order.empty()) line = {{"label", names_[order.front()]}, {"probability", p[order.front()]}};
    line["probabilities"] = nlohmann::ordered_json::object();
    for (const size_t label : order) line["probabilities"][names_[label]] = p[label];
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
  }

  const ClassifyArguments& arguments_;
  std::unique_ptr<models::SequenceClassifier> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::vector<std::string> names_;
  int64_t count_ = 0, cut_ = 0, empty_ = 0;
  text::UnknownTokens unknown_;
};

int classify(const ClassifyArguments& arguments) {
  prepare(arguments.common);
  const MatmulPrecisionScope precision(arguments.common.matmul_precision());
  Labels labels(arguments);
  LineReader in;
  Output out;
  for (auto lines = in.next(arguments.buffer); !lines.empty(); lines = in.next(arguments.buffer)) {
    out.write(labels.lines(lines));
    out.flush();
  }
  labels.report();
  return 0;
}

}  // namespace

void add_classify(Command app) {
  const auto arguments = std::make_shared<ClassifyArguments>();
  Command command = app.subcommand("classify", "A label for each line of standard input");
  command.footer(
      "Prints label TAB probability a line, in the order of the input; an empty line stays empty. Of a regression it "
      "is\n"
      "the value, of labels of which several may be right (--all) each has a probability of its own.\n"
      "Example: tapeformer classify --model sst2 < reviews.txt");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and tokenizer").required();
  const Option all = command.flag("--all", arguments->all, "All labels with their probabilities, the likeliest first");
  command.flag("--pair", arguments->pair, "Lines hold two texts with a tab between them");
  command.option("--batch-tokens", arguments->options.batch_tokens, "Tokens classified at once").at_least(1);
  command
      .option("--buffer-lines", arguments->buffer,
              "Lines read before they are sorted and classified; 1 answers each line at once, as on a terminal")
      .at_least(1);
  command.flag("--json", arguments->common.json, "A JSON object a line: label, probability, probabilities")
      .excludes(all);
  add_threads(command, arguments->common);
  add_precision(command, arguments->common);
  command.runs([arguments] { return until_closed([&] { return classify(*arguments); }); });
}

}  // namespace tape::tools
