#include "tools/commands.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/corpus/corpus.h"
#include "text/scores/bleu.h"
#include "text/scores/chrf.h"

namespace tape::tools {
namespace {

struct ScoreOptions {
  std::string hypotheses;
  std::vector<std::string> references;
  std::string tokenizer = "13a";
  bool lowercase = false, json = false;
  int64_t word_order = 0;
};

/// Reads the lines of a file. Reports to standard error what was removed from them.
std::vector<std::string> read(const std::string& file) {
  text::Lines lines = text::read_lines(file);
  for (const std::string& note : lines.notes) std::cerr << note << "\n";
  return std::move(lines.lines);
}

void print_json(const text::BleuScore& bleu, const text::ChrfScore& chrf) {
  std::cout << nlohmann::ordered_json{{"bleu", bleu.score},
                                      {"chrf", chrf.score},
                                      {"precisions", bleu.precisions},
                                      {"brevity_penalty", bleu.brevity_penalty},
                                      {"hyp_len", bleu.hyp_length},
                                      {"ref_len", bleu.ref_length},
                                      {"bleu_signature", bleu.signature},
                                      {"chrf_name", chrf.name},
                                      {"chrf_signature", chrf.signature}}
                   .dump()
            << "\n";
}

int score(const ScoreOptions& options) {
  const std::vector<std::string> hypotheses = read(options.hypotheses);
  if (hypotheses.empty()) raise(ErrorKind::config, "{}: the file is empty", options.hypotheses);
  std::vector<std::vector<std::string>> references;
  for (const std::string& file : options.references) {
    references.push_back(read(file));
    if (references.back().size() != hypotheses.size())
      raise(ErrorKind::format, "{} has {} lines, {} has {}: both need one line per pair", options.hypotheses,
            hypotheses.size(), file, references.back().size());
  }
  const auto bleu = text::bleu(hypotheses, references,
                               {.tokenizer = text::bleu_tokenizer(options.tokenizer), .lowercase = options.lowercase});
  const auto chrf =
      text::chrf(hypotheses, references, {.word_order = options.word_order, .lowercase = options.lowercase});
  if (options.json) {
    print_json(bleu, chrf);
  } else {
    std::cout << fmt::format("{:<7} {:6.2f}  {}\n{:<7} {:6}  {}\n", "BLEU", bleu.score, bleu.details(), "", "",
                             bleu.signature)
              << fmt::format("{:<7} {:6.2f}  {}\n", chrf.name, chrf.score, chrf.signature);
  }
  std::cout.flush();
  if (!std::cout) raise(ErrorKind::io, "standard output: cannot write");
  return 0;
}

}  // namespace

void add_score(Command app) {
  const auto options = std::make_shared<ScoreOptions>();
  Command command = app.subcommand("score", "Compute BLEU and chrF of translations, equal to sacreBLEU's");
  command.footer("Example: tapeformer score --hyp translated.de --ref test.de");
  command.option("--hyp", options->hypotheses, "File with the translations, one per line").required();
  command.option("--ref", options->references, "File with the references; several files for several sets").required();
  command.option("--tokenize", options->tokenizer, "BLEU's tokenizer; none for tokenized texts")
      .one_of({"13a", "none", "intl", "char"});
  command.flag("--lowercase", options->lowercase, "Ignore case");
  command.option("--chrf-word-order", options->word_order, "Longest word n-grams in chrF; 2 is chrF++").within(0, 2);
  command.flag("--json", options->json, "Print only one JSON line");
  command.runs([options] { return score(*options); });
}

}  // namespace tape::tools
