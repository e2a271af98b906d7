#include "tools/demo.h"

#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "inspect/explorer.h"
#include "inspect/number_words.h"
#include "inspect/subject.h"
#include "text/number_words.h"
#include "tools/interrupt.h"
#include "tools/kept_arguments.h"
#include "tools/train_task.h"
#include "train/tasks/number_words.h"

namespace tape::tools {
namespace {

struct DemoArguments : TrainArguments {
  train::NumberWordsOptions options;
};

/// What the saved model does with numbers that it has not seen, and the page of one.
void show_model(const std::string& out, const std::vector<int64_t>& numbers) {
  auto model = train::NumberWordsModel::load(out);
  std::cout << "\nHeld-out numbers, never seen in training:\n";
  inspect::show_translations(model, numbers, std::cout);
  std::cout << "\n";
  inspect::show_attention(model, numbers.front(), std::cout, terminal_info(1));
  std::cout << "\n";
}

void write_explorer(const std::string& out, int64_t number) {
  const std::string page = out + "/explorer.html";
  const inspect::Subject subject(out, {.text = text::german_number(number)});
  inspect::write_page(page, subject.study(), {.title = subject.title(), .address = page});
}

int demo(DemoArguments& arguments) {
  begin_run(arguments);
  train::NumberWordsOptions& options = arguments.options;
  options.run = arguments.run;
  if (options.run.start == train::Start::fresh && was_started_by("demo", options.run.out))
    options.run.start = train::Start::overwrite;
  const std::string& out = options.run.out;
  const train::NumberWordsResult result = train::train_number_words(options, std::cout, terminal_info(1));
  if (!leads(arguments)) return end_run(arguments, result.run, {});

  // Read back from the folder: what is shown is what was saved.
  const auto shown = train::scored_numbers(12, options.run.seed);
  decorate("translations", [&] { show_model(out, shown); });
  decorate("explorer.html", [&] { write_explorer(out, shown.front()); });
  std::cout << fmt::format(
      "In {0} lie the model, its checkpoints and log.jsonl; to open in a browser:\n"
      "  {0}/report.html     curves and samples of the training\n"
      "  {0}/explorer.html   the forward and backward of {1}, operation by operation\n",
      out, text::german_number(shown.front()));
  if (result.run.reason == train::StopReason::interrupted)
    print_end(arguments, result.run, {});
  else
    print_next(arguments, result.run,
               {"echo dreiundvierzig | {0} translate --model {1}",
                "{0} inspect --model {1} --text dreiundvierzig --gradcheck-report --out {1}/gradients.html",
                "{0} train lm --help"});
  return end_run(arguments, result.run, {{"held_out_exact", result.held_out_exact()}, {"held_out", result.held_out}});
}

}  // namespace

void add_demo(Command app) {
  const auto arguments = std::make_shared<DemoArguments>();
  train::NumberWordsOptions& options = arguments->options;
  train::TaskOptions& run = arguments->run;
  run.out = "runs/number-words";
  run.steps = train::kNumberWordsRecipe.steps;
  run.lr = train::kNumberWordsRecipe.lr;
  Command command = app.subcommand("demo", "Train the built-in German to English number-words task");
  arguments->kept = command.keeps_options();
  command.footer("Example: tapeformer demo --out runs/words");
  command.option("--steps", run.steps, "Training steps").at_least(1);
  command.option("--seconds", options.budget, "Take fewer steps where they would take longer; 0: never").at_least(0);
  command.option("--batch", options.batch, "Pairs a step").at_least(1);
  command.option("--lr", run.lr, "Learning rate at the end of the warm-up").above(0);
  command.option("--seed", run.seed, "Of the weights, the numbers and the order");
  command.option("--held-out", options.held_out, "Held-out numbers to translate").at_least(1);
  command.option("--out", run.out, "Folder of the run; an earlier demo there is replaced");
  command.option("--keep-last", run.keep_last, "Checkpoints that stay in --out, beside the best").at_least(1);
  const Option resume = command.flag("--resume", arguments->resume, "Go on from the newest good checkpoint of --out");
  command.flag("--overwrite", arguments->overwrite, "Replace what another run left in --out").excludes(resume);
  command.flag("--allow-changes", run.allow_changes, "Resume though options are others than they were").needs(resume);
  add_distributed(command, arguments->together);
  add_threads(command, arguments->common);
  add_precision(command, arguments->common);
  add_json(command, arguments->common);
  command.runs([arguments] { return demo(*arguments); });
}

}  // namespace tape::tools
