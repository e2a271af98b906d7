#include "tools/commands.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/number_text.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "inspect/experiments/inspected_model.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/live/live_page.h"
#include "inspect/pictures/attention_text.h"
#include "inspect/pictures/tape_dot.h"
#include "text/tokenizers/unknown_tokens.h"
#include "tools/dropped_text.h"
#include "tools/terminal/lines.h"
#include "train/runs/output_folder.h"

namespace tape::tools {
namespace {

using inspect::Study;

struct InspectArguments {
  std::string model, out, title, dot;
  std::vector<std::string> detail;
  inspect::InspectOptions subject;
  inspect::RunOptions runs;
  bool gradcheck = false, nudges = false, live = false, terminal = false;
  inspect::AttentionTextOptions picture;
  Common common;
};

/// A progress line on standard error if that is a terminal. It is erased at the end.
class Progress {
 public:
  ~Progress() { show(""); }
  void show(const std::string& line) const {
    if (terminal_.tty) std::cerr << "\r\x1b[K" << clipped(line, std::max(terminal_.columns, 2) - 1) << std::flush;
  }

 private:
  const TerminalInfo terminal_ = terminal_info(2);
};

/// ", 1.2 MB" for a page written to a regular file, "" for a pipe.
std::string size_text(const std::string& path) {
  std::error_code failed;
  const auto bytes = static_cast<double>(std::filesystem::file_size(path, failed));
  return failed ? "" : fmt::format(", {}", format_bytes(bytes));
}

GradcheckReport checked(const Study& study) {
  const Progress line;
  return inspect::check_gradients(
      study, {.directions = inspect::kDirections, .progress = [&](int64_t done, int64_t all, const std::string& name) {
                line.show(fmt::format("checking gradients: {} of {}, {}", done + 1, all, name));
              }});
}

std::vector<inspect::Frame> runs_beside(const InspectArguments& arguments, const inspect::InspectedModel& subject) {
  const Progress line;
  inspect::RunOptions options = arguments.runs;
  options.progress = [&](const std::string& name) { line.show(fmt::format("running {}", name)); };
  return inspect::record_runs(subject, arguments.model, options);
}

std::optional<inspect::Patching> patched(const InspectArguments& arguments, const inspect::InspectedModel& subject) {
  if (!arguments.runs.corrupted) return std::nullopt;
  const Progress line;
  const auto show = [&](int64_t done, int64_t all) {
    if (done % 20 == 0) line.show(fmt::format("activation patching: {} of {} runs", done, all));
  };
  return inspect::run_activation_patching(subject.study(), subject.corrupted(*arguments.runs.corrupted),
                                          {.progress = show});
}

/// The data of the page.
nlohmann::ordered_json data_of(const Study& study, inspect::PageOptions options, bool nudges) {
  const Progress line;
  if (nudges)
    options.nudges = {.progress = [&](int64_t done, int64_t all) {
      if (done % 20 == 0) line.show(fmt::format("nudging values: {} of {} runs", done, all));
    }};
  return inspect::explorer_data(study, options);
}

/// Writes the page and prints what it contains. Returns exit code 1 if a gradient is wrong.
int write(const InspectArguments& arguments, const inspect::InspectedModel& subject) {
  const Study& study = subject.study();
  // First, so that a model that no page can contain is an error at once.
  nlohmann::ordered_json live;
  if (arguments.live) live = inspect::live_json(arguments.model, arguments.subject);
  inspect::PageOptions options{.title = arguments.title.empty() ? subject.title() : arguments.title,
                               .runs = runs_beside(arguments, subject),
                               .patching = patched(arguments, subject),
                               .label_smoothing = subject.label_smoothing(),
                               .detail = arguments.detail,
                               .address = arguments.out};
  if (arguments.gradcheck) options.gradcheck = checked(study);
  if (arguments.live) options = inspect::with_live_limits(std::move(options));
  const nlohmann::ordered_json data = data_of(study, options, arguments.nudges);
  if (arguments.live)
    inspect::write_live_page(arguments.out, data, live);
  else
    inspect::write_page(arguments.out, data);
  for (const auto& output : data["outputs"])
    std::cout << fmt::format("{}: {:.6g}\n", output["name"].get<std::string>(), output["value"].get<double>());
  std::cout << fmt::format("{}: {} operations, {} of attention{}\n", arguments.out, data["tape"]["nodes"].size(),
                           data["attention"].size(), size_text(arguments.out));
  for (const inspect::Frame& run : options.runs)
    std::cout << fmt::format("{}: {} {:.6g}\n", run.name, run.outputs[0].name, run.outputs[0].value.item());
  if (arguments.nudges)
    std::cout << fmt::format("nudged {} values, ablated {} parts of heads\n", data["nudges"]["places"].size(),
                             data["nudges"]["cuts"].size());
  if (arguments.gradcheck) std::cout << "\n" << data["gradcheck"]["text"].get<std::string>() << "\n";
  return arguments.gradcheck && !options.gradcheck->ok() ? 1 : 0;
}

void warn_of_unknown(const text::Tokenizer& tokenizer, const inspect::InspectOptions& texts) {
  text::UnknownTokens unknown;
  unknown.add(tokenizer, tokenizer.encode(*texts.text), *texts.text);
  const text::Tokenizer& second = tokenizer.target();  // the target side of a translator, else the same tokenizer
  if (texts.text_b) unknown.add(second, second.encode(*texts.text_b), *texts.text_b);
  tell(unknown.note());
  DroppedText dropped(tokenizer);
  dropped.add(*texts.text);
  if (texts.text_b) dropped.add(*texts.text_b);
  dropped.report();
}

int inspect_model(InspectArguments& arguments) {
  prepare(arguments.common);
  const DeviceScope on_device = use_device(arguments.common);
  if (arguments.out.empty() && arguments.dot.empty() && !arguments.terminal)
    raise(ErrorKind::config, "inspect: nothing to do: give --out FILE, --dot FILE or --terminal");
  for (const std::string& file : {arguments.out, arguments.dot})
    if (!file.empty()) train::check_is_not_of_a_model(file, arguments.model);
  arguments.subject.bf16 = arguments.live;
  const inspect::InspectedModel subject(arguments.model, arguments.subject);
  if (subject.tokenizer()) warn_of_unknown(*subject.tokenizer(), arguments.subject);
  if (arguments.terminal) {
    const TerminalInfo terminal = terminal_info(1);
    arguments.picture.colors = terminal.colors;
    arguments.picture.columns = terminal.tty ? std::max(terminal.columns, 40) : 0;
    std::cout << inspect::attention_text(subject.study(), arguments.picture);
  }
  if (!arguments.dot.empty()) write_file(arguments.dot, inspect::tape_dot(subject.study()));
  if (arguments.out.empty()) return 0;
  return write(arguments, subject);
}

}  // namespace

void add_inspect(Command app) {
  const auto arguments = std::make_shared<InspectArguments>();
  Command command =
      app.subcommand("inspect", "Write a model's forward and backward for a text or an image as one HTML file");
  command.footer(
      "The page shows attention by layer and head, queries and keys, the tape with every value and gradient, and the\n"
      "arithmetic of softmax and LayerNorm. It needs no network. Gradients are those of the loss: the translation's "
      "for\n"
      "a translator, the text's for a language model, the label's for a classifier, and the squared norm of the mean\n"
      "hidden state for an encoder without a head.\n"
      "Example: tapeformer inspect --model runs/number-words --text dreiundvierzig --out page.html");
  command.option("--model", arguments->model, "Folder with config.json, model.safetensors and tokenizer").required();
  const Option text = command.option("--text", arguments->subject.text, "Input text");
  command
      .option("--image", arguments->subject.image,
              "Input image: a .npy file of pixels [channels, height, width], scaled as in training (pixel_values of "
              "transformers)")
      .excludes(text);
  command.option("--text-b", arguments->subject.text_b,
                 "Target of a translator (default: its greedy translation), or second text of a pair");
  const Option out = command.option("--out", arguments->out, "File to write");
  command.option("--title", arguments->title, "Title of the page; default: the model and its texts").needs(out);
  command.option("--logit", arguments->subject.logits,
                 "POSITION:TOKEN whose logit is differentiated in addition to the loss. Position 0 of a translator "
                 "predicts the first token. For a classifier 0:LABEL. Can be repeated");
  command.option("--loss-at", arguments->subject.losses,
                 "POSITION whose own loss is differentiated in addition to the mean loss. Can be repeated");
  command.option("--label", arguments->subject.label,
                 "For a classifier: label of the loss; default: the most likely one");
  command
      .flag("--gradcheck-report", arguments->gradcheck,
            "Check every gradient against finite differences in f64 and show the report in the page")
      .needs(out);
  command
      .option("--detail", arguments->detail,
              "PATTERN of modules whose values and gradients the page includes in full, whatever their size: "
              "decoder.layers.1 or *.cross_attention. Can be repeated")
      .needs(out);
  command
      .flag("--nudges", arguments->nudges,
            "Change attention weights, scores and activations slightly, ablate heads, keys and rows, and compare the "
            "predictions of the gradients with the actual change of the loss")
      .needs(out);
  command
      .option("--beside", arguments->runs.beside,
              "Folder of another model or a checkpoint to run on the same text. The page compares attention, "
              "probabilities and losses. Can be repeated")
      .needs(out);
  command
      .option("--cut", arguments->runs.cuts,
              "MODULE:HEAD: compare with a run without that head: decoder.layers.1.cross_attention:3. Can be repeated")
      .needs(out);
  const Option corrupted =
      command
          .option(
              "--corrupted", arguments->runs.corrupted,
              "TEXT with as many tokens as --text, or a FILE like --image: compare with a run on this input with the "
              "same target, and show how much each layer and head restores if its activation from --text is patched "
              "in")
          .needs(out);
  command
      .option(
          "--patch", arguments->runs.patches,
          "MODULE[:HEAD][@POSITION]: compare with a run on --corrupted with that activation patched in from --text: "
          "encoder.layers.0@2. Can be repeated")
      .needs(corrupted);
  command
      .flag("--live", arguments->live,
            "Include the engine and the model, with weights in bf16, so that the page computes other texts, follows "
            "edits and trains. For models of at most 20 MB that read texts")
      .needs(out);
  command.flag("--film", arguments->runs.film, "Compare all checkpoints in the folder of --model, as frames of a film")
      .needs(out);
  command.option("--dot", arguments->dot,
                 "Write the tape with ranges of values and gradients for Graphviz (dot -Tsvg)");
  const Option terminal =
      command.flag("--terminal", arguments->terminal, "Print the attention weights of one attention module");
  command.option("--block", arguments->picture.block, "Module that --terminal shows; default: the last one")
      .needs(terminal);
  command.option("--head", arguments->picture.head, "Head, counted from 0; default: the mean of all heads")
      .needs(terminal);
  command.flag("--grads", arguments->picture.gradients, "Show gradients of the loss instead of probabilities")
      .needs(terminal);
  add_threads(command, arguments->common);
  add_device(command, arguments->common);
  command.runs([arguments] { return until_closed([&] { return inspect_model(*arguments); }); });
}

}  // namespace tape::tools
