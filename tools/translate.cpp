#include "tools/commands.h"

#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/scope.h"
#include "base/number_text.h"
#include "models/encoder_decoders/alignment.h"
#include "models/encoder_decoders/translate.h"
#include "models/encoder_decoders/translator.h"
#include "text/corpus/padding_in_texts.h"
#include "text/json.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unknown_tokens.h"
#include "tools/terminal/lines.h"

namespace tape::tools {
namespace {

struct TranslateArguments {
  std::string model;
  models::TranslateOptions options;
  text::Languages languages;
  int64_t buffer = 2000;
  Common common;
};

/// Translates lines of text.
class Translator {
 public:
  explicit Translator(const TranslateArguments& arguments)
      : arguments_(arguments),
        loaded_(models::load_translator(arguments.model, arguments.languages)),
        options_(models::translate_options(model(), source(), arguments.options)) {
    model().prepare_for_inference();
    options_.scores = arguments.common.json || options_.n_best > 1;  // otherwise not printed
    tell(models::note_of(model().search, arguments.model));
  }

  /// Output for some lines, in input order.
  std::string lines(const std::vector<std::string>& texts) {
    std::vector<text::Encoding> encodings;
    std::vector<std::vector<int64_t>> ids;
    for (const std::string& text : texts) {
      encodings.push_back(encoded(text));
      ids.push_back(encodings.back().ids);
    }
    const auto found = models::translate(model(), ids, options_);
    std::string out;
    for (size_t i = 0; i < texts.size(); ++i) {
      for (const models::Translation& t : found[i]) unended_ += t.ended ? 0 : 1;
      out += arguments_.common.json ? json(encodings[i], found[i]) : plain(encodings[i], found[i]);
      ++count_;
    }
    return out;
  }

  /// Prints to standard error how many inputs or translations were truncated.
  void report() const {
    tell(unknown_.note());
    tell(padding_.note(source()));
    if (cut_ > 0)
      std::cerr << fmt::format("tapeformer: {} of {} lines were truncated to {} tokens\n", grouped(cut_),
                               grouped(count_), grouped(*model().max_length()));
    if (unended_ > 0)
      std::cerr << fmt::format("tapeformer: {} translations were cut off before their end (--max-length)\n",
                               grouped(unended_));
  }

 private:
  models::EncoderDecoder& model() const { return *loaded_.model; }
  const text::Tokenizer& source() const { return *loaded_.tokenizer; }
  const text::Tokenizer& target() const { return source().target(); }

  text::Encoding encoded(const std::string& text) {
    if (text.find_first_not_of(" \t") == std::string::npos) return {};
    const std::optional<int64_t> most = model().max_length();
    text::Encoding encoding = source().encode(text);
    unknown_.add(source(), encoding, text);
    if (most && std::ssize(encoding.ids) > *most) {
      ++cut_;
      encoding = source().encode(text, {.max_length = *most});
    }
    padding_.remove(encoding, model().options().padding_id);
    return encoding;
  }

  std::string plain(const text::Encoding& from, const std::vector<models::Translation>& found) const {
    // A line with only text that the tokenizer drops.
    const std::vector<models::Translation> nothing(1);
    std::string out;
    for (const models::Translation& t : found.empty() ? nothing : found) {
      const std::string said = one_line(target().decode(t.tokens));
      if (arguments_.options.n_best > 1)
        out += fmt::format("{} ||| {} ||| {:.4f}", count_, said, t.score);
      else
        out += said;
      if (t.alignment.defined()) out += aligned(from, t);
      out += '\n';
    }
    return out;
  }

  /// Both lists of tokens and the pairs of aligned positions.
  std::string aligned(const text::Encoding& from, const models::Translation& t) const {
    std::string words, said, pairs;
    for (size_t s = 0; s < from.size(); ++s)
      if (!from.special_tokens_mask[s]) words += fmt::format(" {}", source().token(from.ids[s]));
    for (const int64_t id : t.tokens) said += fmt::format(" {}", target().token(id));
    for (const auto& [s, i] : models::aligned_tokens(t.alignment, from.special_tokens_mask))
      pairs += fmt::format(" {}-{}", s, i);
    return one_line(fmt::format(" |||{} |||{} |||{}", words, said, pairs));
  }

  nlohmann::ordered_json object(const models::Translation& t) const {
    nlohmann::ordered_json json{
        {"translation", target().decode(t.tokens)}, {"score", t.score}, {"tokens", target().tokens(t.tokens)}};
    if (!t.ended && !t.tokens.empty()) json["cut"] = true;
    if (!t.alignment.defined()) return json;
    json["alignment"] = nlohmann::ordered_json::array();
    const std::vector<double> weights = cast(t.alignment, f64).to_vector<double>();
    const int64_t columns = t.alignment.size(1);
    for (int64_t row = 0; row < t.alignment.size(0); ++row) {
      nlohmann::ordered_json line = nlohmann::ordered_json::array();
      for (int64_t column = 0; column < columns; ++column)
        line.push_back(std::round(1e6 * weights[static_cast<size_t>(row * columns + column)]) / 1e6);
      json["alignment"].push_back(std::move(line));
    }
    return json;
  }

  std::string json(const text::Encoding& from, const std::vector<models::Translation>& found) const {
    nlohmann::ordered_json line = object(found.empty() ? models::Translation() : found.front());
    if (arguments_.options.alignments) line["source_tokens"] = source().tokens(from.ids);
    if (arguments_.options.n_best > 1) {
      line["n_best"] = nlohmann::ordered_json::array();
      for (const models::Translation& t : found) line["n_best"].push_back(object(t));
    }
    return dump_json(line) + '\n';
  }

  const TranslateArguments& arguments_;
  const models::Translator loaded_;
  models::TranslateOptions options_;
  int64_t count_ = 0, cut_ = 0, unended_ = 0;
  text::UnknownTokens unknown_;
  text::PaddingInTexts padding_;
};

int translate(const TranslateArguments& arguments) {
  prepare(arguments.common);
  const DeviceScope on_device = use_device(arguments.common);
  const MatmulPrecisionScope precision(arguments.common.matmul_precision());
  process_lines(arguments.buffer, Translator(arguments));
  return 0;
}

}  // namespace

void add_translate(Command app) {
  const auto arguments = std::make_shared<TranslateArguments>();
  models::TranslateOptions& options = arguments->options;
  Command command = app.subcommand("translate", "Translate each line of standard input");
  command.footer(
      "Prints one line per input line, in input order. An empty line stays empty.\n"
      "--n-best K prints K lines each: index ||| translation ||| score. --alignments adds\n"
      "||| source tokens ||| target tokens ||| 0-0 1-2 (source-target positions, except where a token attended most "
      "to\n"
      "the end token). Defaults of the search come from generation_config.json if it has them.\n"
      "For a T5, each line begins with its task: translate English to German: It rains.\n"
      "Example: tapeformer translate --model opus-mt-de-en --beam 5 < german.txt > english.txt");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and tokenizer").required();
  command.option("--source-language", arguments->languages.source,
                 "Multilingual model: source language, such as eng_Latn (NLLB), en_XX (mBART), en (M2M100)");
  command.option("--target-language", arguments->languages.target,
                 "Multilingual model: target language; an unknown name prints the available ones");
  command.option("--beam", options.beams, "Beam size; 1 is greedy; 4 by default").at_least(1);
  command.option("--length-penalty", options.length_penalty,
                 "Scores are log probabilities divided by length to this power; 1 by default");
  command
      .option("--no-repeat-ngram", options.no_repeat_ngram,
              "Generate no sequence of this many tokens twice; 0, the default: no limit")
      .at_least(0);
  command.option("--min-new-tokens", options.min_length, "Minimum tokens per translation; 0 by default").at_least(0);
  command.option("--n-best", options.n_best, "Translations per line, at most --beam").at_least(1);
  command.flag("--alignments", options.alignments, "Print the source token that each target token attended to most");
  command
      .option("--alignment-layer", options.alignment_layer,
              "Decoder layer of the alignments, counted from 0; default: the second to last")
      .at_least(0);
  command
      .option("--max-length", options.max_length,
              "Maximum tokens per translation; default: three times the source's plus 20")
      .at_least(1);
  command.option("--batch-tokens", options.batch_tokens, "Source tokens per batch").at_least(1);
  command
      .option("--buffer-lines", arguments->buffer,
              "Lines to read before sorting and translating; 1 answers each line at once, as on a terminal")
      .at_least(1);
  command.flag("--json", arguments->common.json,
               "Print one JSON object per line: translation, score, tokens, with --alignments source_tokens and the "
               "matrix");
  add_threads(command, arguments->common);
  add_precision(command, arguments->common);
  add_device(command, arguments->common);
  command.runs([arguments] { return until_closed([&] { return translate(*arguments); }); });
}

}  // namespace tape::tools
