#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/tape/graph.h"
#include "base/file.h"
#include "base/utf8.h"
#include "inspect/attention_text.h"
#include "inspect/explorer_data.h"
#include "models/folder.h"
#include "models/translate.h"
#include "text/tokenizer.h"
#include "tools/commands.h"
#include "tools/lines.h"

namespace tape::tools {
namespace {

using inspect::PageText;
using inspect::Study;
using inspect::StudyOptions;

constexpr int64_t kMostTokens = 128;  // a page holds matrices of this many rows and columns for each head

struct Arguments {
  std::string model, text, out, title, dot;
  std::optional<std::string> text_b, label;
  std::vector<std::string> logits;
  bool gradcheck = false, terminal = false;
  inspect::AttentionTextOptions picture;
  Common common;
};

/// A model folder, and the study of the texts given.
class Subject {
 public:
  explicit Subject(const Arguments& arguments)
      : arguments_(arguments),
        model_(models::load_model(arguments.model)),
        tokenizer_(text::load_tokenizer(arguments.model)) {
    check_utf8("--text", arguments.text);
    if (arguments.text_b) check_utf8("--text-b", *arguments.text_b);
    study_ = std::visit([this](auto& model) { return study_of(*model); }, model_);
  }

  const Study& study() const { return study_; }
  std::string title() const {
    std::string title;
    for (const Study::Text& text : study_.texts) title += fmt::format("{}{}", title.empty() ? "" : " → ", shown(text));
    return fmt::format("{}: {}", models::module_of(model_).type_name(), title);
  }

 private:
  static void check_utf8(const char* option, const std::string& text) {
    if (!valid_utf8(text)) raise(ErrorKind::format, "{}: not UTF-8", option);
  }

  static std::string shown(const Study::Text& text) {
    std::string words;
    for (const std::string& token : text.tokens) words += fmt::format("{}{}", words.empty() ? "" : " ", token);
    return clipped(words, 60);
  }

  void check_fit(const text::Tokenizer& tokenizer, const char* key, int64_t vocabulary) const {
    if (tokenizer.vocab_size() > vocabulary)
      raise(ErrorKind::config, "{}: the tokenizer has {} tokens, the model {} ({})", arguments_.model,
            tokenizer.vocab_size(), vocabulary, key);
  }

  static PageText page_text(const text::Tokenizer& tokenizer, const text::Encoding& encoding, const char* option) {
    if (std::ssize(encoding.ids) > kMostTokens)
      raise(ErrorKind::config, "{}: {} tokens; a page shows {} at most", option, encoding.ids.size(), kMostTokens);
    return {.ids = encoding.ids, .tokens = tokenizer.tokens(encoding.ids)};
  }

  void check_alone(const char* kind) const {
    if (arguments_.text_b)
      raise(ErrorKind::config, "--text-b: {} holds a {}, which reads one text", arguments_.model, kind);
  }
  void check_no_label() const {
    if (arguments_.label) raise(ErrorKind::config, "--label: {} holds no classifier", arguments_.model);
  }

  static std::vector<int64_t> greedy(models::Transformer& model, const std::vector<int64_t>& ids) {
    const std::vector<std::vector<int64_t>> sources{ids};
    // One less than there are positions: bos stands in front.
    const int64_t most = std::min({3 * std::ssize(ids) + 20, model.config().max_length - 1, kMostTokens - 1});
    const auto found = models::translate(model, sources, {.beams = 1, .max_length = std::max<int64_t>(most, 1)});
    return found[0].empty() ? std::vector<int64_t>() : found[0][0].tokens;
  }

  Study study_of(models::Transformer& model) {
    check_no_label();
    const text::Tokenizer& target = tokenizer_->target();
    check_fit(*tokenizer_, "src_vocab", model.config().src_vocab);
    check_fit(target, "tgt_vocab", model.config().tgt_vocab);
    const PageText source = page_text(*tokenizer_, tokenizer_->encode(arguments_.text), "--text");
    text::Encoding said;
    if (arguments_.text_b)
      said = target.encode(*arguments_.text_b, {.add_special_tokens = false});
    else
      said.ids = greedy(model, source.ids);
    StudyOptions options = chosen(target);
    options.begin = target.token(model.config().bos_id);
    return inspect::study(model, source, page_text(target, said, "--text-b"), options);
  }

  Study study_of(models::Gpt& model) {
    check_alone("Gpt");
    check_no_label();
    check_fit(*tokenizer_, "vocab_size", model.config().vocab);
    return inspect::study(model, page_text(*tokenizer_, tokenizer_->encode(arguments_.text), "--text"),
                          chosen(*tokenizer_));
  }

  /// What the Berts read: a text, or a pair.
  PageText read(const models::BertConfig& config) const {
    check_fit(*tokenizer_, "vocab_size", config.vocab);
    if (!arguments_.text_b) return page_text(*tokenizer_, tokenizer_->encode(arguments_.text), "--text");
    const text::Encoding pair = tokenizer_->encode_pair(arguments_.text, *arguments_.text_b);
    PageText text = page_text(*tokenizer_, pair, "--text and --text-b");
    if (config.segments > 1) text.segments = pair.type_ids;
    return text;
  }

  Study study_of(models::Bert& model) {
    check_no_label();
    return inspect::study(model, read(model.config()), chosen(*tokenizer_));
  }
  Study study_of(models::MaskedLanguageModel& model) {
    check_no_label();
    return inspect::study(model, read(model.config()), chosen(*tokenizer_));
  }

  Study study_of(models::SequenceClassifier& model) {
    const std::vector<std::string> names = model.config().label_names();
    const auto label = [&](const std::string& name) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        raise(ErrorKind::config, "label \"{}\" is unknown; known are {}", name, fmt::join(names, ", "));
      return static_cast<int64_t>(found - names.begin());
    };
    StudyOptions options;
    if (arguments_.label) options.label = label(*arguments_.label);
    for (const std::string& logit : arguments_.logits) {
      const auto [position, name] = split_logit(logit);
      options.logits.push_back({.position = position, .token = label(name), .name = name});
    }
    return inspect::study(model, read(model.config().bert), options);
  }

  static std::pair<int64_t, std::string> split_logit(const std::string& logit) {
    const size_t colon = logit.find(':');
    int64_t position = 0;
    const char* end = logit.data() + std::min(colon, logit.size());
    const auto [stopped, error] = std::from_chars(logit.data(), end, position);
    if (colon == std::string::npos || colon + 1 == logit.size() || error != std::errc() || stopped != end)
      raise(ErrorKind::config, "--logit: needs POSITION:TOKEN, got \"{}\"", logit);
    return {position, logit.substr(colon + 1)};
  }

  StudyOptions chosen(const text::Tokenizer& tokenizer) const {
    StudyOptions options;
    for (const std::string& logit : arguments_.logits) {
      const auto [position, name] = split_logit(logit);
      options.logits.push_back({.position = position, .token = token(tokenizer, name), .name = name});
    }
    return options;
  }

  /// The id of a token as the vocabulary writes it, or of a text that is one token.
  static int64_t token(const text::Tokenizer& tokenizer, const std::string& name) {
    if (const auto id = tokenizer.find(name)) return *id;
    const text::Encoding encoding = tokenizer.encode(name, {.add_special_tokens = false});
    if (encoding.ids.size() != 1 || encoding.ids[0] == tokenizer.special().unk)
      raise(ErrorKind::config, "--logit: \"{}\" is no token of the vocabulary", name);
    return encoding.ids[0];
  }

  const Arguments& arguments_;
  models::AnyModel model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  Study study_;
};

/// Writes the page and says what is in it; the exit code is 1 where a gradient is wrong.
int write(const Arguments& arguments, const Study& study, const std::string& title) {
  inspect::PageOptions options{.title = title, .address = arguments.out};
  if (arguments.gradcheck) options.gradcheck = inspect::check_gradients(study);
  const nlohmann::ordered_json data = inspect::explorer_data(study, options);
  inspect::write_page(arguments.out, data);
  if (arguments.gradcheck) std::cout << data["gradcheck"]["text"].get<std::string>() << "\n";
  for (const auto& output : data["outputs"])
    std::cout << fmt::format("{}: {:.6g}\n", output["name"].get<std::string>(), output["value"].get<double>());
  std::cout << fmt::format("{}: {} operations, {} of attention, {}\n", arguments.out, data["tape"]["nodes"].size(),
                           data["attention"].size(),
                           bytes_text(static_cast<double>(std::filesystem::file_size(arguments.out))));
  return arguments.gradcheck && !options.gradcheck->ok() ? 1 : 0;
}

int inspect_model(Arguments& arguments) {
  prepare(arguments.common);
  if (arguments.out.empty() && arguments.dot.empty() && !arguments.terminal)
    raise(ErrorKind::config, "inspect: nothing to do: give --out FILE, --dot FILE or --terminal");
  const Subject subject(arguments);
  if (arguments.terminal) {
    const TerminalInfo terminal = terminal_info(1);
    arguments.picture.colors = terminal.colors;
    arguments.picture.columns = terminal.tty ? std::max(terminal.columns, 40) : 0;
    std::cout << inspect::attention_text(subject.study(), arguments.picture);
  }
  if (!arguments.dot.empty()) {
    const std::string dot = inspect::tape_dot(subject.study());
    write_file(arguments.dot, std::vector<std::string_view>{dot});
  }
  if (arguments.out.empty()) return 0;
  return write(arguments, subject.study(), arguments.title.empty() ? subject.title() : arguments.title);
}

}  // namespace

void add_inspect(Command app) {
  const auto arguments = std::make_shared<Arguments>();
  Command command =
      app.subcommand("inspect", "A model's forward and backward over a text, as one HTML file to look at");
  command.footer(
      "The page shows attention by layer and head, queries and keys, the tape with every value and gradient, and\n"
      "softmax and LayerNorm in numbers; it needs no network. Gradients are of the loss: of the translation for a\n"
      "translator, of the text itself for a language model, of the label for a classifier; of the squared norm of\n"
      "the mean hidden state for a BERT without a head.\n"
      "Example: tapeformer inspect --model runs/number-words --text dreiundvierzig --out page.html");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and tokenizer").required();
  command.option("--text", arguments->text, "What the model reads").required();
  command.option("--text-b", arguments->text_b,
                 "A translator's target (its greedy translation where not given), or the second text of a pair");
  const Option out = command.option("--out", arguments->out, "The file to write");
  command.option("--title", arguments->title, "Above the page; the model and its texts where not given").needs(out);
  command.option("--logit", arguments->logits,
                 "POSITION:TOKEN, whose score is looked at beside the loss; position 0 of a translator says the "
                 "first token. Of a classifier 0:LABEL. May be repeated");
  command.option("--label", arguments->label,
                 "Of a classifier: the loss is this label's; the likeliest's if not given");
  command
      .flag("--gradcheck-report", arguments->gradcheck,
            "Check every gradient against differences in f64 and show the report in the page")
      .needs(out);
  command.option("--dot", arguments->dot, "The tape with ranges of values and gradients, for Graphviz (dot -Tsvg)");
  const Option terminal =
      command.flag("--terminal", arguments->terminal, "Print who looks at whom in one attention module");
  command.option("--block", arguments->picture.block, "The module that --terminal shows; the last where not given")
      .needs(terminal);
  command.option("--head", arguments->picture.head, "The head, counted from 0; the mean of all where not given")
      .needs(terminal);
  command.flag("--gradients", arguments->picture.gradients, "Show the loss's gradients in place of probabilities")
      .needs(terminal);
  add_threads(command, arguments->common);
  command.runs([arguments] { return until_closed([&] { return inspect_model(*arguments); }); });
}

}  // namespace tape::tools
