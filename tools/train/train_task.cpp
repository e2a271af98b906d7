#include "tools/train/train_task.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <limits>
#include <sstream>
#include <streambuf>

#include <fmt/format.h>

#include "autograd/cuda/blas_product.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/graph.h"
#include "autograd/options.h"
#include "inspect/run_report/run_report.h"
#include "tools/terminal/interrupt.h"
#include "tools/terminal/shell.h"
#include "train/memory/machine.h"
#include "train/runs/progress.h"

namespace tape::tools {
namespace {

/// A stream buffer that discards everything.
std::streambuf* silence() {
  class Silence : public std::streambuf {
    int overflow(int c) override { return traits_type::not_eof(c); }
    std::streamsize xsputn(const char*, std::streamsize n) override { return n; }
  };
  static Silence everything;
  return &everything;
}

/// "512M"
int64_t size_of(const std::string& given) {
  int64_t size = 0;
  const auto [rest, failed] = std::from_chars(given.data(), given.data() + given.size(), size);
  const std::string_view unit(rest, given.data() + given.size());
  const size_t power = unit.size() == 1 ? std::string_view("KMG").find(unit[0]) : std::string_view::npos;
  const int shift = unit.empty() ? 0 : 10 * (static_cast<int>(power) + 1);
  if (failed != std::errc() || (!unit.empty() && power == std::string_view::npos) || size < 1 ||
      size > std::numeric_limits<int64_t>::max() >> shift)
    raise(ErrorKind::config, "--memory-limit: must be a size in bytes such as 800000000, 512M or 2G, got {}", given);
  return size << shift;
}

/// "encoder.layers.0=1e-5"
train::PatternRate pattern_rate(const std::string& given) {
  const size_t equals = given.rfind('=');
  train::PatternRate rate{.pattern = given.substr(0, equals)};
  const char* const begin = given.data() + std::min(equals, given.size() - 1) + 1;
  const char* const end = given.data() + given.size();
  if (const auto [rest, failed] = std::from_chars(begin, end, rate.lr);
      equals == std::string::npos || rate.pattern.empty() || failed != std::errc() || rest != end)
    raise(ErrorKind::config, "--lr-of: must be PATTERN=RATE, got {}", given);
  return rate;
}

/// The longest line of the last training samples, shortened to fit into a command line.
std::string example_of(const train::TrainResult& result) {
  constexpr size_t kLongest = 60;
  if (!result.evaluation || result.evaluation->samples.empty()) return "...";
  std::istringstream lines(result.evaluation->samples.front().input);
  std::string line;
  for (std::string other; std::getline(lines, other);)
    if (other.size() > line.size()) line = other;
  if (line.size() > kLongest) {
    size_t end = line.rfind(' ', kLongest);
    if (end == line.npos || end == 0) end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
    line.resize(end);
  }
  return line.empty() ? "..." : line;
}

}  // namespace

void add_run_options(Command& command, TrainArguments& arguments, const std::vector<std::string>& presets) {
  train::TaskOptions& run = arguments.run;
  arguments.kept = command.saves_options();
  arguments.given = command.given();
  command.option("--out", run.out, "Folder of the run: model, checkpoints, log.jsonl, report.html").required();
  command.option("--preset", run.preset, "Sizes and schedule, see below").one_of(presets).default_text(presets.front());
  const Option resume =
      command.flag("--resume", arguments.resume,
                   "Resume from the newest valid checkpoint in --out; options that are not given default to its run's");
  command.flag("--allow-changes", run.allow_changes, "Resume even if options or data have changed").needs(resume);
  command.flag("--overwrite", arguments.overwrite, "Replace the contents of --out once training begins")
      .excludes(resume);
  command.flag("--doctor", arguments.doctor, "Only check whether the setup can overfit one batch");
  const Option steps = command.option("--steps", run.steps, "Updates").at_least(1).default_text("preset");
  command.option("--epochs", run.epochs, "Passes over the data, instead of --steps").above(0).excludes(steps);
  command.option("--seconds", run.seconds, "Stop after this time; 0: no limit").at_least(0).default_text("0");
  command.option("--lr", run.lr, "Peak learning rate").above(0).default_text("preset");
  command.option("--warmup", run.warmup, "Warm-up steps up to the peak").at_least(0).default_text("preset");
  command.option("--dropout", run.dropout, "Dropout probability in embeddings and sublayers")
      .probability()
      .default_text("preset");
  command.option("--weight-decay", run.weight_decay, "Decoupled weight decay (AdamW) of matrices and embeddings")
      .at_least(0)
      .default_text("preset");
  command.option("--clip-norm", run.clip_norm, "Maximum global gradient norm; 0: no clipping")
      .at_least(0)
      .default_text("preset");
  command.option("--accumulate", run.accumulate, "Batches per update").at_least(1).default_text("1");
  command.option("--evaluate-every", run.evaluate_every, "Steps between evaluations, each with a checkpoint")
      .at_least(0)
      .default_text("preset");
  command.option("--patience", run.patience, "Stop after this many evaluations without improvement; 0: never")
      .at_least(0)
      .default_text("0");
  command.option("--average-last", run.average_last, "Average this many checkpoints at the end; 0: none")
      .at_least(0)
      .default_text("preset");
  command.option("--keep-last", run.keep_last, "Newest checkpoints to keep in --out, besides the best").at_least(1);
  command.option("--ema", run.ema_decay, "Decay of an exponential moving average of the weights; 0: none")
      .probability()
      .default_text("0");
  command.option("--layer-decay", run.layer_decay, "Learning rate of each layer relative to the layer above it")
      .above(0)
      .default_text("1");
  command.option("--lr-of", arguments.lr_of, "Peak learning rates by module path: PATTERN=RATE")
      .value_name("PATTERN=RATE");
  add_optimizer_state(command, arguments.moments);
  command.flag("--step-in-backward", run.step_in_backward,
               "Update each parameter as soon as its gradient is complete: less memory; needs --clip-norm 0");
  command
      .option(
          "--memory-limit", arguments.memory_limit,
          "Memory for tensors, such as 512M or 2G: enables --checkpoint-layers and splits batches until a step fits")
      .value_name("SIZE");
  command.flag("--checkpoint-layers", run.checkpoint_layers,
               "Recompute activations within layers in the backward: less memory, one more forward");
  command.option("--seed", run.seed, "Seed of the weights, data order and dropout");
  add_distributed(command, arguments.together);
  add_threads(command, arguments.common);
  add_precision(command, arguments.common);
  add_device(command, arguments.common);
  add_json(command, arguments.common);
}

bool is_root(const TrainArguments& arguments) {
  return !arguments.world || train::ranks_or_single(arguments.world->ranks()).is_root();
}

void add_model_options(Command& command, std::optional<int64_t>& layers, std::optional<int64_t>& width,
                       std::optional<int64_t>& heads) {
  command.option("--layers", layers, "Number of layers").at_least(1).default_text("preset");
  command.option("--width", width, "Model width").at_least(1).default_text("preset");
  command.option("--heads", heads, "Number of attention heads").at_least(1).default_text("preset");
}

void add_adapter_options(Command& command, AdapterArguments& arguments, const Option& init) {
  nn::LoraOptions& lora = arguments.adapters.lora;
  const Option rank =
      command.option("--lora-rank", arguments.rank, "Train LoRA adapters of this rank instead of the model")
          .at_least(1)
          .needs(init);
  command.option("--lora-alpha", arguments.alpha, "Adapter outputs are scaled by alpha / rank")
      .above(0)
      .needs(rank)
      .default_text("2 x rank");
  command.option("--lora-dropout", lora.dropout, "Dropout probability of adapter inputs").probability().needs(rank);
  command
      .option("--lora-targets", arguments.adapters.targets, "Linear layers to adapt: ends of their names, or PATTERNs")
      .needs(rank)
      .default_text("query value");
  command.flag("--rslora", lora.rank_stabilized, "Scale by alpha / sqrt(rank)").needs(rank);
  command.flag("--dora", lora.decomposed, "Train the magnitude of each output separately (DoRA)").needs(rank);
}

std::optional<train::AdapterTraining> adapters_of(const AdapterArguments& arguments) {
  if (!arguments.rank) return std::nullopt;
  train::AdapterTraining adapters = arguments.adapters;
  adapters.lora.rank = *arguments.rank;
  adapters.lora.alpha = arguments.alpha.value_or(2 * static_cast<double>(*arguments.rank));
  return adapters;
}

void refuse_given(const TrainArguments& arguments, std::initializer_list<const char*> options,
                  const std::string& reason) {
  for (const char* option : options)
    if (arguments.given(option)) raise(ErrorKind::config, "{}: {}", option, reason);
}

void begin_run(TrainArguments& arguments) {
  arguments.world = std::make_unique<train::World>();
  const train::Communicator& ranks = train::ranks_or_single(arguments.world->ranks());
  if (!ranks.is_root()) std::cout.rdbuf(silence());
  prepare(arguments.common, arguments.world->ranks_sharing_cores());
  arguments.on_device.reset(new DeviceScope(use_device(arguments.common, arguments.world->rank_on_machine())));
  std::cout << to_string(train::machine());
  if (ranks.size() > 1) std::cout << fmt::format(", {} processes", ranks.size());
  std::cout << "\n";
  if (ranks.size() > 1 && arguments.doctor)
    raise(ErrorKind::config, "train: --doctor needs a single process, but mpirun started {}", ranks.size());
  if (const MatmulPrecision asked = arguments.common.matmul_precision(); asked != MatmulPrecision::highest)
    std::cout << fmt::format("matrix products, {} precision: {}\n", to_string(asked), train::products_in_use(asked));
  note_interrupts();
  train::TaskOptions& run = arguments.run;
  run.start = arguments.resume      ? train::Start::resume
              : arguments.overwrite ? train::Start::overwrite
                                    : train::Start::fresh;
  run.precision = arguments.common.matmul_precision();
  run.moments = arguments.moments.value_or(run.moments);
  if (arguments.memory_limit) run.memory_limit = size_of(*arguments.memory_limit);
  for (const std::string& given : arguments.lr_of) run.lr_of.push_back(pattern_rate(given));
  run.ranks = arguments.world->ranks();
  run.distributed = arguments.together.options();
  if (arguments.kept) run.command_json = arguments.kept();
  run.interrupted = [] { return interrupted() != 0; };
  if (ranks.is_root()) run.report = [](const std::string& folder) { inspect::write_run_report(folder); };
}

int show(const train::Diagnosis& diagnosis) {
  for (const std::string& line : diagnosis.lines) std::cout << line << "\n";
  return diagnosis.can_learn ? 0 : 1;
}

void print_next(const TrainArguments& arguments, const train::TrainResult& result,
                const std::vector<std::string>& next) {
  if (arguments.common.json) return;
  std::error_code failed;
  const std::string command = command_path(), out = shell_word(arguments.run.out);
  const std::string folder = std::filesystem::absolute(command, failed).parent_path().string();
  const std::string text = shell_quoted(example_of(result));
  std::cout << "\nNext steps:\n";
  for (const std::string& line : next)
    std::cout << fmt::format("  {}\n",
                             fmt::format(fmt::runtime(line), shell_word(command), out, text, shell_word(folder)));
}

/// How work was launched on a GPU, if steps are graphs (TAPE_CUDA_GRAPHS=1).
void print_graphs() {
  if (!default_device().is_cuda()) return;
  const cuda_device::UseDevice use(default_device().index());
  const cuda_device::GraphStatistics count = cuda_device::graph_statistics();
  const int64_t all = count.by_graph + count.plainly;
  if (all == 0) return;
  std::cout << fmt::format(
      "launches: {} of {} in {} graphs; one by one: {} in lists seen once, {} in lists of fewer than four, {} that the "
      "driver refused as graphs; lists ended {}\n",
      count.by_graph, all, count.graphs, count.seen_once, count.in_short_lists, count.refused,
      cuda_device::list_ends_text(count));
  if (count.refused > 0) std::cout << fmt::format("the driver refused: {}\n", count.refusal);
}

/// How the algorithms of products on a GPU were chosen, if they are measured (TAPE_CUDA_ALGORITHMS).
void print_algorithms() {
  if (!default_device().is_cuda()) return;
  const cuda_device::UseDevice use(default_device().index());
  const cuda_device::BlasChoices count = cuda_device::blas_choices();
  if (count.measured + count.from_file + count.unmeasured == 0) return;
  std::cout << fmt::format("algorithms of products: {} measured, {} from the file, {} as cuBLASLt suggests\n",
                           count.measured, count.from_file, count.unmeasured);
}

void print_end(const TrainArguments& arguments, const train::TrainResult& result,
               const std::vector<std::string>& next) {
  const std::string& out = arguments.run.out;
  if (result.reason == train::StopReason::interrupted) {
    const auto kept = nlohmann::json::parse(arguments.kept());
    return print_next(arguments, result,
                      {fmt::format("{{0}} {} --out {{1}} --resume", kept["command"].get<std::string>())});
  }
  std::cout << fmt::format("{} steps in {} ({}); model saved in {}: {}\ncurves and samples: {}/report.html\n",
                           result.step, train::format_duration(result.seconds), to_string(result.reason), out,
                           result.weights, out);
  print_graphs();
  print_algorithms();
  print_next(arguments, result, next);
}

void run_or_warn(const char* what, const std::function<void()>& show) {
  try {
    show();
  } catch (const std::exception& error) {
    std::cout << fmt::format("warning: {} skipped: {}\n", what, error.what());
  }
}

int end_run(const TrainArguments& arguments, const train::TrainResult& result, nlohmann::ordered_json figures) {
  if (arguments.common.json) {
    figures["train_seconds"] = result.seconds;
    figures["steps"] = result.step;
    figures["tok_s"] = result.tokens_per_second;
    figures["loss"] = result.loss;
    figures["stopped"] = to_string(result.reason);
    figures["model"] = arguments.run.out;
    std::cout << figures.dump() << "\n";
  }
  return interrupted() ? 128 + interrupted() : 0;
}

}  // namespace tape::tools
