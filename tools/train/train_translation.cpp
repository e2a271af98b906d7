#include "tools/commands.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "autograd/tape/scope.h"
#include "tools/train/train_task.h"
#include "train/tasks/translation.h"

namespace tape::tools {
namespace {

struct TrainTranslationArguments : TrainArguments {
  train::TranslationOptions options;
};

int train_translation(TrainTranslationArguments& arguments) {
  begin_run(arguments);
  if (arguments.options.train.records.empty() && arguments.options.valid.records.empty())
    refuse_given(arguments, {"--source-column", "--target-column"},
                 "applies to records only; requires --data or --valid-data");
  arguments.options.run = arguments.run;
  arguments.options.valid.fields = arguments.options.train.fields;
  if (arguments.doctor) return show(train::examine_translation(arguments.options, std::cout));
  const auto result = train::train_translation(arguments.options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f}, BLEU {:.4g} (greedy, tokens {})\n", result.valid_loss,
                             result.valid_bleu, arguments.options.bleu_tokenizer);
    figures = {{"valid_loss", result.valid_loss}, {"valid_bleu", result.valid_bleu}};
  }
  print_end(arguments, result.run,
            {"echo {2} | {0} translate --model {1}", "{0} inspect --model {1} --text {2} --out {1}/inspect.html",
             "{0} report --model {1}"});
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace

void add_train_translation(Command train) {
  const auto arguments = std::make_shared<TrainTranslationArguments>();
  train::TranslationOptions& o = arguments->options;
  Command command = train.subcommand("translation", "Train a translator on sentences and their translations");
  command.footer(
      "  preset  layers  width  heads  norm  vocabulary  batch tokens  steps   lr    warmup  dropout\n"
      "  tiny     4 + 4    128      4  pre        10000          4096  10000   5e-3    1000  0.3\n"
      "  small    3 + 3    256      4  pre        10000          4096  10000   2e-3    1000  0.2\n"
      "  base     6 + 6    512      8  pre        16000          4096  100000  1e-3    4000  0.1\n"
      "All: clip norm 1, average of the last 5 checkpoints, evaluations every 500, 1000 and 2000 steps. The default "
      "is\n"
      "tiny. With --init it is\n"
      "  fine-tune     as --init                                      2048   1000   5e-5     100  its own\n"
      "without averaging, with an evaluation every 100 steps.\n"
      "Example: tapeformer train translation --src train.de --tgt train.en --valid-src val.de --valid-tgt val.en "
      "--out runs/de-en");
  command.option("--src", o.train.src, "Training sentences, one per line").value_name("FILE");
  command.option("--tgt", o.train.tgt, "Their translations, one per line").value_name("FILE");
  command.option("--tsv", o.train.tsv, "Both in one file: source, a tab, target").value_name("FILE");
  command.option("--data", o.train.records, "Both in one file of records: .jsonl, .csv or .tsv with a header")
      .value_name("FILE");
  command.option("--source-column", o.train.fields.source, "Records: field of the source, such as translation.de");
  command.option("--target-column", o.train.fields.target, "Records: field of the target");
  command.option("--valid-src", o.valid.src, "Validation sentences").value_name("FILE");
  command.option("--valid-tgt", o.valid.tgt, "Their translations").value_name("FILE");
  command.option("--valid-tsv", o.valid.tsv, "Both in one file").value_name("FILE");
  command.option("--valid-data", o.valid.records, "Both in one file of records").value_name("FILE");
  const Option init =
      command.option("--init", o.init, "Folder of a model to start from: Marian, M2M100, NLLB, BART, mBART, T5, mT5")
          .value_name("DIR");
  command.option("--freeze", o.freeze, "PATTERNs of modules of --init to freeze").needs(init);
  command
      .option("--source-language", o.languages.source,
              "Multilingual --init: source language, such as eng_Latn (NLLB), en_XX (mBART), en (M2M100)")
      .needs(init);
  command
      .option("--target-language", o.languages.target,
              "Multilingual --init: target language; an unknown name prints the available ones")
      .needs(init);
  command.option("--prefix", o.prefix, "Text before each sentence, such as T5's task: 'translate English to German: '")
      .needs(init);
  command.option("--vocab-size", o.vocab_size, "Size of the joint vocabulary").at_least(1).default_text("preset");
  command.option("--batch-tokens", o.batch_tokens, "Maximum tokens per batch on either side, with padding")
      .at_least(1)
      .default_text("preset");
  command.option("--label-smoothing", o.label_smoothing, "Share of the target probability spread over all tokens")
      .within(0, 1)
      .default_text("0.1");
  command.choice("--norm", o.norm, {{"pre", nn::NormPlace::pre}, {"post", nn::NormPlace::post}},
                 "Normalization before the sublayers (pre) or after them (post)");
  command.option("--max-length", o.max_length, "Maximum sentence length in tokens").at_least(2);
  command
      .option("--time-budget", o.time_budget,
              "Plan fewer steps, and a shorter schedule, if this machine would take longer than this many seconds; "
              "0: never")
      .at_least(0);
  command.option("--tokenize", o.bleu_tokenizer, "Tokenizer of the validation BLEU")
      .one_of({"13a", "none", "intl", "char"});
  add_model_options(command, o.layers, o.width, o.heads);
  add_run_options(command, *arguments, {"tiny", "small", "base", "fine-tune"});
  command.runs([arguments] { return train_translation(*arguments); });
}

}  // namespace tape::tools
