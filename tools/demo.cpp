#include "tools/commands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/tape/scope.h"
#include "base/file.h"
#include "base/path.h"
#include "inspect/experiments/inspected_model.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/live/live_page.h"
#include "inspect/pictures/attention_picture.h"
#include "models/encoder_decoders/translator.h"
#include "text/corpus/number_words.h"
#include "tools/saved_arguments.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/shell.h"
#include "tools/train/train_task.h"
#include "train/tasks/translation.h"

namespace tape::tools {
namespace {

constexpr int64_t kValidated = 100, kShown = 12;
constexpr uint64_t kDataSeed = 1;

struct DemoArguments : TrainArguments {
  train::TranslationOptions options;
  int64_t pairs = 20'000, held_out = 1000;
};

/// Writes a data file of the demo unless it exists. Throws Error (io) if the file has other contents, which may be the
/// user's.
void write_text(const std::string& path, const std::string& text) {
  if (!path_exists(path)) return write_file(path, text);
  if (read_text(path) != text)
    raise(ErrorKind::io, "{}: exists and is not the demo's data; remove it or choose another --out", path);
}

/// Writes STEM.de and STEM.en, one number per line.
void write_pairs(const std::string& stem, const std::vector<int64_t>& numbers) {
  std::string german, english;
  for (const int64_t number : numbers) {
    german += text::german_number(number) + "\n";
    english += text::english_number(number) + "\n";
  }
  write_text(stem + ".de", german);
  write_text(stem + ".en", english);
}

/// The numbers translated at the end. Evaluations use other numbers.
std::vector<int64_t> scored_numbers(int64_t count) {
  const std::vector<int64_t> numbers = text::held_out_sample(kValidated + count, kDataSeed);
  return {numbers.begin() + kValidated, numbers.end()};
}

/// Translations of unseen numbers by the saved model.
class TrainedModel {
 public:
  explicit TrainedModel(const std::string& folder) : loaded_(models::load_translator(folder)) {
    loaded_.model->prepare_for_inference();
  }

  std::vector<models::Translation> translate(const std::vector<int64_t>& numbers, bool alignments = false) {
    std::vector<std::vector<int64_t>> sources;
    for (const int64_t number : numbers) sources.push_back(loaded_.tokenizer->encode(text::german_number(number)).ids);
    std::vector<models::Translation> best;
    const auto greedy = models::translate_options(*loaded_.model, *loaded_.tokenizer,
                                                  {.beams = 1,
                                                   .scores = false,
                                                   .alignments = alignments,
                                                   .alignment_layer = loaded_.model->options().layers - 1});
    for (auto& found : models::translate(*loaded_.model, sources, greedy)) best.push_back(std::move(found.at(0)));
    return best;
  }

  std::string english(const models::Translation& translation) const {
    return loaded_.tokenizer->target().decode(translation.tokens);
  }

  int64_t count_exact(const std::vector<int64_t>& numbers) {
    const auto translations = translate(numbers);
    int64_t exact = 0;
    for (size_t i = 0; i < numbers.size(); ++i) exact += english(translations[i]) == text::english_number(numbers[i]);
    return exact;
  }

  void show_translations(const std::vector<int64_t>& numbers) {
    const auto translations = translate(numbers);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const std::string expected = text::english_number(numbers[i]), found = english(translations[i]);
      std::cout << fmt::format("{:>8}  {}\n          {}\n", numbers[i], text::german_number(numbers[i]), found);
      if (found != expected) std::cout << fmt::format("          should be: {}\n", expected);
    }
  }

  /// Cross-attention to the German word while the decoder writes the English one.
  void show_attention(int64_t number, const TerminalInfo& terminal) {
    const models::Translation translation = translate({number}, true).front();
    const std::vector<double> weights = translation.alignment.to(f64).to_vector<double>();
    const auto sources = loaded_.tokenizer->tokens(loaded_.tokenizer->encode(text::german_number(number)).ids);
    std::cout << inspect::attention_picture(weights, loaded_.tokenizer->target().tokens(translation.tokens), sources,
                                            {.title = "Cross-attention of the last decoder layer, mean of heads:",
                                             .colors = terminal.colors,
                                             .columns = terminal.columns});
  }

 private:
  const models::Translator loaded_;
};

void write_explorer(const std::string& out, int64_t number) {
  const std::string page = out + "/explorer.html";
  const bool live = !inspect::live_engine_wasm().empty();
  const inspect::InspectedModel subject(out, {.text = text::german_number(number), .bf16 = live});
  // The page's chapters compare what gradients predict with what happens.
  inspect::PageOptions options{.title = subject.title(),
                               .nudges = inspect::NudgeOptions{.weights = 200, .activations = 0},
                               .bytes = 4'280'000,
                               .label_smoothing = subject.label_smoothing(),
                               .address = page};
  if (live) options = inspect::with_live_limits(std::move(options));
  const nlohmann::ordered_json data = inspect::explorer_data(subject.study(), options);
  if (live)
    inspect::write_live_page(page, data, inspect::live_json(out, {.text = text::german_number(number)}));
  else
    inspect::write_page(page, data);
}

int demo(DemoArguments& arguments) {
  begin_run(arguments);
  train::TranslationOptions& options = arguments.options;
  options.run = arguments.run;
  options.run.evaluate_every = std::max<int64_t>(options.run.steps.value() / 8, 1);
  if (options.run.start == train::Start::fresh && run_was_started_by("demo", options.run.out))
    options.run.start = train::Start::overwrite;
  const std::string& out = options.run.out;
  const std::string data = out + "-data";
  if (is_root(arguments)) {
    make_folder(data);
    write_pairs(data + "/train", text::training_sample(arguments.pairs, kDataSeed));
    write_pairs(data + "/valid", text::held_out_sample(kValidated, kDataSeed));
  }
  options.train = {.src = data + "/train.de", .tgt = data + "/train.en"};
  options.valid = {.src = data + "/valid.de", .tgt = data + "/valid.en"};
  std::cout << "German number words to English\n";
  const train::TrainResult run = train::train_translation(options, std::cout, terminal_info(1)).run;
  if (!is_root(arguments)) return end_run(arguments, run, {});

  // Loads the saved model, so that the results are those of the folder.
  TrainedModel model(out);
  const std::vector<int64_t> scored = scored_numbers(arguments.held_out);
  const int64_t held_out = std::ssize(scored), exact = model.count_exact(scored);
  const double share = static_cast<double>(exact) / static_cast<double>(held_out);
  std::cout << fmt::format(
      "\n{} of {} held-out numbers translated exactly ({:.1f}%) after {} steps in {:.1f} s, {:.0f} tokens/s\n", exact,
      held_out, 100 * share, run.step, run.seconds, run.tokens_per_second);

  const auto shown = scored_numbers(kShown);
  run_or_warn("translations", [&] {
    std::cout << "\nHeld-out numbers, never seen in training:\n";
    model.show_translations(shown);
    std::cout << "\n";
    model.show_attention(shown.front(), terminal_info(1));
    std::cout << "\n";
  });
  run_or_warn("explorer.html", [&] { write_explorer(out, shown.front()); });
  std::cout << fmt::format(
      "{0} contains the model, its checkpoints and log.jsonl. Open in a browser:\n"
      "  {0}/report.html     curves and samples of the training run\n"
      "  {0}/explorer.html   forward and backward for {1}, operation by operation\n",
      out, text::german_number(shown.front()));
  if (run.reason == train::StopReason::interrupted) {
    print_end(arguments, run, {});
  } else {
    std::vector<std::string> next = {
        "echo dreiundvierzig | {0} translate --model {1}",
        "{0} inspect --model {1} --text dreiundvierzig --gradcheck-report --out {1}/gradients.html",
        "{0} train lm --help"};
    if (command_path().find('/') != std::string::npos)
      next.emplace_back("export PATH={3}:$PATH   # docs/guide calls the command tapeformer");
    print_next(arguments, run, next);
  }
  return end_run(arguments, run, {{"held_out_exact", share}, {"held_out", held_out}});
}

}  // namespace

void add_demo(Command app) {
  const auto arguments = std::make_shared<DemoArguments>();
  train::TranslationOptions& options = arguments->options;
  // 2 + 2 layers of width 128 learn the task in well under a minute.
  options.layers = 2;
  options.vocab_size = 208;
  options.normalization = "identity";  // the page with the model contains the tokenizer
  options.batch_tokens = 700;
  options.label_smoothing = 0.05;
  options.time_budget = 55;
  options.bleu_tokenizer = "none";
  train::TaskOptions& run = arguments->run;
  run.out = "runs/number-words";
  run.steps = 900;
  run.lr = 2e-3;
  run.dropout = 0;
  run.average_last = 0;
  Command command = app.subcommand("demo", "Train a translator of number words, German to English");
  arguments->kept = command.saves_options();
  command.footer(
      "Writes the numbers in both languages to OUT-data and trains as `train translation` does.\n"
      "Example: tapeformer demo --out runs/words");
  command.option("--steps", run.steps, "Training steps").at_least(1);
  command.option("--seconds", options.time_budget, "Take fewer steps if they would take longer than this; 0: no limit")
      .at_least(0);
  command.option("--batch-tokens", options.batch_tokens, "Maximum tokens per batch on either side, with padding")
      .at_least(1);
  command.option("--lr", run.lr, "Learning rate at the end of the warm-up").above(0);
  command.option("--seed", run.seed, "Seed of the weights and the data order");
  command.option("--pairs", arguments->pairs, "Numbers to train on").at_least(1);
  command.option("--held-out", arguments->held_out, "Held-out numbers to translate").at_least(1);
  command.option("--out", run.out, "Folder of the run; an earlier demo there is replaced");
  command.option("--keep-last", run.keep_last, "Newest checkpoints to keep in --out, besides the best").at_least(1);
  const Option resume = command.flag("--resume", arguments->resume, "Resume from the newest valid checkpoint in --out");
  command.flag("--overwrite", arguments->overwrite, "Replace another run in --out").excludes(resume);
  command.flag("--allow-changes", run.allow_changes, "Resume even if options have changed").needs(resume);
  add_distributed(command, arguments->together);
  add_threads(command, arguments->common);
  add_precision(command, arguments->common);
  add_device(command, arguments->common);
  add_json(command, arguments->common);
  command.runs([arguments] { return demo(*arguments); });
}

}  // namespace tape::tools
