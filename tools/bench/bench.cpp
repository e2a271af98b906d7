#include "tools/commands.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/diagnose/profile.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/random.h"
#include "autograd/transforms/rematerialize.h"
#include "inspect/chrome_trace.h"
#include "models/decoding/beam.h"
#include "models/decoding/generate.h"
#include "models/decoding/greedy.h"
#include "optim/adam.h"
#include "optim/step_in_backward.h"
#include "tools/bench/bench_model.h"
#include "tools/bench/bench_profile.h"
#include "tools/common.h"
#include "train/distributed/consistency.h"
#include "train/distributed/world.h"
#include "train/memory/machine.h"
#include "train/runs/progress.h"
#include "train/trainer/step.h"

namespace tape::tools {
namespace {

struct BenchOptions {
  Common common = {};
  std::string config = "gpt-nano";
  double dropout = 0;
  int64_t steps = 20, warm_up = 3, batch = 32, beams = 1;
  bool profile = false, step_in_backward = false;
  std::optional<optim::MomentDtype> moments = {};
  std::string trace = {};
  DistributedArguments together = {};
};

int64_t peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

nlohmann::ordered_json heading(const BenchOptions& options) {
  return {{"cfg", options.config}, {"threads", kernels::num_threads()}};
}

void print(nlohmann::ordered_json line) {
  const train::Machine m = train::machine();
  line["blas_core"] = m.blas_core;
  line["isa"] = m.kernels;
  line["device"] = m.device;
  std::cout << line.dump() << "\n";
}

double rounded(double value, double to = 100) { return std::round(value * to) / to; }

/// A training step of this process, alone or in data-parallel training.
class Trained {
 public:
  Trained(const BenchOptions& options, train::Communicator& ranks)
      : model(make_bench_model(options.config, options.dropout, ranks.rank(), ranks.size())),
        adam_(model.module->parameters(),
              {.lr = 1e-4, .moments = options.moments.value_or(optim::MomentDtype::parameter_dtype)}),
        step_in_backward_(options.step_in_backward) {
    model.module->train();
    parameters = model.module->parameter_count();
    if (ranks.size() > 1) distributed.emplace(ranks, *model.module, adam_, options.together.options());
  }

  /// Charges its costs to a profile, which may be null.
  void step(Profile* profile) {
    if (distributed)
      distributed->zero_grad();
    else
      adam_.zero_grad();
    std::optional<Rematerialize> scope;  // as in every training run
    if (!distributed || !distributed->shards_parameters()) scope.emplace(train::recomputed_bytes(default_device()));
    const Tensor loss = model.loss();
    if (distributed) {
      distributed->backward(loss, model.part, train::Distributed::Send::now);
      distributed->finish();
    } else {
      std::optional<optim::StepInBackward> stepping;
      if (step_in_backward_) stepping.emplace(adam_);
      loss.backward();
    }
    if (profile) profile->charge("gradient sums and the tape");
    if (distributed)
      distributed->step({});
    else if (!step_in_backward_)
      adam_.step();
    if (profile) profile->charge("optimizer");
    loss_ = loss.detach();
  }
  /// The loss of the last step, times this rank's share of the rows. Waits for a GPU.
  double own_loss() const { return loss_.item() * model.part; }

  BenchModel model;
  std::optional<train::Distributed> distributed;
  int64_t parameters = 0;

 private:
  optim::Adam adam_;
  const bool step_in_backward_;
  Tensor loss_;
};

/// Runs one more step and writes every event.
void trace_step(Trained& trained, const std::string& path) {
  Profile profile(Profile::Keep::costs_and_events);
  trained.step(&profile);
  write_chrome_trace(path, profile);
}

/// Bytes that a step sent, and the share of the communication time that overlapped with the backward.
void add_exchange(nlohmann::ordered_json& line, const train::ExchangeStats& before, const train::ExchangeStats& now,
                  double steps) {
  const double in_flight = now.in_flight - before.in_flight, waited = now.waited - before.waited;
  line["sent_mb"] = rounded(static_cast<double>(now.sent_bytes - before.sent_bytes) / steps / 1e6);
  line["hidden_ms"] = rounded((in_flight - waited) / steps * 1e3);
  line["waited_ms"] = rounded(waited / steps * 1e3);
}

double flops_of(const Profile& profile) {
  double flops = 0;
  for (const auto& [key, cost] : profile.costs()) flops += cost.flops;
  return flops;
}

/// Ranks with other options would wait for each other forever, or train another model.
void check_same_bench(train::Communicator& ranks, const BenchOptions& options) {
  const train::DistributedOptions together = options.together.options();
  const bool bf16_moments = options.moments == optim::MomentDtype::bf16;
  train::check_same_text(
      ranks, "bench train-step: the options",
      fmt::format("--config {}\n--steps {}\n--warmup {}\n--dropout {}\n--precision {}\n--optimizer-state {}\n"
                  "sharding (ZeRO) {}\nbf16 gradients {}",
                  options.config, options.steps, options.warm_up, options.dropout, options.common.precision,
                  bf16_moments ? "bf16" : "f32", static_cast<int>(together.sharding), together.bf16));
}

int train_step(const BenchOptions& options) {
  const train::World world;
  train::Communicator& ranks = train::ranks_or_single(world.ranks());
  prepare(options.common, world.ranks_sharing_cores());
  const DeviceScope on_device = use_device(options.common, world.rank_on_machine());
  if (ranks.size() > 1 && (options.profile || !options.trace.empty()))
    raise(ErrorKind::config, "bench train-step: --profile and --trace need a single process, but mpirun started {}",
          ranks.size());
  if (ranks.size() > 1 && options.step_in_backward)
    raise(ErrorKind::config, "bench train-step: --step-in-backward needs a single process, but mpirun started {}",
          ranks.size());
  const MatmulPrecisionScope precision(options.common.matmul_precision());
  check_same_bench(ranks, options);
  manual_seed(1);
  Trained trained(options, ranks);
  // Operations of a GPU are not observed, which would take time of the host, except in the first step.
  const bool observed = default_device().is_cpu() || options.profile;
  auto profile = std::make_unique<Profile>();
  double flops = 0;
  // A GPU computes behind the program, which waits after some steps. A profile has a row for the time it waits.
  const int64_t between_waits = default_device().is_cpu() || options.profile ? 1 : 5;
  std::vector<double> times;
  int64_t after_two_steps = 0;
  train::ExchangeStats exchanged;
  for (int64_t i = 0; i < options.steps + options.warm_up; ++i) {
    if (i == options.warm_up && observed) profile->reset();
    if (i == options.warm_up && trained.distributed) exchanged = trained.distributed->stats();
    if (i == 2) after_two_steps = memory_stats().system_allocations;
    if (i == options.warm_up && default_device().is_cuda()) reset_peak_memory(default_device());
    const double start = train::steady_seconds();
    for (int64_t j = 0; j < between_waits; ++j) {
      trained.step(profile.get());
      if (!observed && profile) flops = flops_of(*profile), profile.reset();
    }
    static_cast<void>(trained.own_loss());
    if (profile && default_device().is_cuda()) profile->charge("wait for the loss");
    if (i >= options.warm_up) times.push_back((train::steady_seconds() - start) / static_cast<double>(between_waits));
  }
  const double steps = static_cast<double>(std::ssize(times) * between_waits),
               least = *std::min_element(times.begin(), times.end());
  if (observed) flops = flops_of(*profile) / steps;
  double all_flops = 0;
  for (const double of_rank : train::all_gather(ranks, flops)) all_flops += of_rank;
  double loss = 0;
  for (const double of_rank : train::all_gather(ranks, trained.own_loss())) loss += of_rank;
  const std::vector<int64_t> resident = train::all_gather(ranks, peak_megabytes());
  const int64_t new_memory = memory_stats().system_allocations - after_two_steps;
  if (!ranks.is_root()) return 0;
  if (options.profile)
    print_profile(std::cout, default_device(), profile->costs(), options.steps * between_waits,
                  measure_peaks(options.common.matmul_precision()));
  if (!options.trace.empty()) trace_step(trained, options.trace);
  nlohmann::ordered_json line = heading(options);
  line["params"] = trained.parameters;
  line["ms"] = rounded(median(times) * 1e3);
  line["min_ms"] = rounded(least * 1e3);
  line["tok_s"] = std::llround(static_cast<double>(trained.model.tokens) / least);
  line["rss_mb"] = *std::ranges::max_element(resident);
  if (default_device().is_cuda()) line["gpu_mb"] = memory_stats(default_device()).peak_bytes >> 20;
  line["gflops"] = rounded(all_flops / least / 1e9, 10);
  line["loss"] = rounded(loss, 1e6);
  line["dropout"] = options.dropout;
  line["precision"] = options.common.precision;
  line["products"] = train::products_in_use(options.common.matmul_precision());
  line["new_memory_after_two_steps"] = new_memory;
  if (trained.distributed) {
    line["ranks"] = ranks.size();
    add_exchange(line, exchanged, trained.distributed->stats(), steps);
  }
  print(line);
  return 0;
}

/// Decodes, without an end token, so that every text has exactly `tokens` new tokens.
struct Decoding {
  int64_t tokens;
  std::function<void()> run;
};

Decoding translation_of(const BenchOptions& options) {
  const std::shared_ptr<models::Transformer> model = make_bench_transformer(options.config, 0);
  model->prepare_for_inference();
  constexpr int64_t kLength = 32;
  const Tensor src = randint(3, model->config().src_vocab, {options.batch, kLength});
  const int64_t beams = options.beams;
  return {kLength, [model, src, beams] {
            if (beams == 1)
              models::greedy_decode(*model, src, {.eos = -1, .max_length = kLength});
            else
              models::beam_search(*model, src, {.beams = beams, .max_length = kLength, .eos = -1});
          }};
}

Decoding continuation_of(const BenchOptions& options) {
  if (options.beams != 1)
    raise(ErrorKind::config, "bench decode: {} is decoded with beam size 1, got {}", options.config, options.beams);
  const std::shared_ptr<models::CausalLM> model = make_bench_gpt2();
  model->prepare_for_inference();
  constexpr int64_t kGiven = 16, kNew = 128;
  std::vector<std::vector<int64_t>> texts;
  for (int64_t i = 0; i < options.batch; ++i) texts.push_back(randint(3, 50257, {kGiven}).to_vector<int64_t>());
  return {kNew, [model, texts] {
            models::generate(
                *model, texts,
                {.sampling = {.temperature = 0}, .max_new_tokens = kNew, .stop_ids = std::vector<int64_t>()});
          }};
}

int decode(const BenchOptions& options) {
  prepare(options.common);
  const DeviceScope on_device = use_device(options.common);
  const MatmulPrecisionScope precision(options.common.matmul_precision());
  manual_seed(1);
  const Decoding decoding = options.config == "gpt-124m" ? continuation_of(options) : translation_of(options);
  std::vector<double> times;
  for (int64_t i = 0; i < options.steps + 1; ++i) {
    const double start = train::steady_seconds();
    decoding.run();
    if (i > 0) times.push_back(train::steady_seconds() - start);
  }
  const double least = *std::min_element(times.begin(), times.end());
  nlohmann::ordered_json line = heading(options);
  line["batch"] = options.batch;
  line["beam"] = options.beams;
  line["precision"] = options.common.precision;
  line["ms"] = rounded(median(times) * 1e3);
  line["min_ms"] = rounded(least * 1e3);
  line["ms_token"] = rounded(least * 1e3 / static_cast<double>(decoding.tokens), 1000);
  line["tok_s"] = std::llround(static_cast<double>(options.batch * decoding.tokens) / least);
  line["rss_mb"] = peak_megabytes();
  if (default_device().is_cuda()) line["gpu_mb"] = memory_stats(default_device()).peak_bytes >> 20;
  print(line);
  return 0;
}

int gemm(const BenchOptions& options) {
  prepare(options.common);
  const DeviceScope on_device = use_device(options.common);
  const MatmulPrecisionScope precision(options.common.matmul_precision());
  constexpr int64_t kSizes[][3] = {{256, 256, 256},   {768, 128, 128},   {1024, 512, 512},  {2048, 2048, 512},
                                   {2048, 512, 2048}, {4096, 1152, 384}, {1024, 10000, 512}};
  double best = 0;
  nlohmann::ordered_json line{{"cfg", "gemm"}, {"threads", kernels::num_threads()}};
  for (const auto& [m, n, k] : kSizes) {
    const double rate = product_rate(m, n, k, options.common.matmul_precision());
    best = std::max(best, rate);
    line[fmt::format("{}x{}x{}", m, n, k)] = std::llround(rate);
  }
  line["gflops"] = std::llround(best);
  print(line);
  return 0;
}

Command add_kind(Command& bench, const char* name, const char* description,
                 const std::shared_ptr<BenchOptions>& options, int (*run)(const BenchOptions&)) {
  Command command = bench.subcommand(name, description);
  add_threads(command, options->common);
  command.runs([options, run] { return run(*options); });
  return command;
}

Option add_line_flag(Command& command, BenchOptions& options,
                     const char* help = "Print one JSON line, which is the default") {
  return command.flag("--json", options.common.json, help);
}

}  // namespace

void add_bench(Command app) {
  const auto options = std::make_shared<BenchOptions>();
  Command bench = app.subcommand("bench", "Measure training steps, decoding and matrix products");
  bench.footer("Example: tapeformer bench train-step --config gpt-nano --profile");  // also that of train-step

  Command step = add_kind(bench, "train-step", "Forward, backward and Adam on random tokens", options, train_step);
  const Option line = add_line_flag(step, *options, "Print only the JSON line, the default without --profile");
  step.option("--config", options->config, "Model and batch size").one_of(bench_names());
  step.option("--dropout", options->dropout, "Dropout probability throughout the model").probability();
  step.option("--steps", options->steps, "Steps to time, on a GPU five each without --profile").at_least(1);
  step.option("--warmup", options->warm_up, "Untimed steps before them").at_least(0);
  step.flag("--step-in-backward", options->step_in_backward,
            "Update each parameter as soon as its gradient is complete");
  add_optimizer_state(step, options->moments);
  step.flag("--profile", options->profile, "Print the cost of each operation").excludes(line);
  add_distributed(step, options->together);
  step.option("--trace", options->trace, "Write a trace of one more step to FILE, for chrome://tracing or Perfetto")
      .value_name("FILE");

  const auto decoded = std::make_shared<BenchOptions>(BenchOptions{.config = "base", .steps = 5});
  Command decoding = add_kind(
      bench, "decode", "Translation of 32 tokens to 32 tokens, or GPT-2's next 128 tokens behind 16", decoded, decode);
  decoding.footer("Example: tapeformer bench decode --config tiny --beam 1");
  add_line_flag(decoding, *decoded);
  decoding.option("--config", decoded->config, "Model").one_of({"base", "tiny", "gpt-124m"});
  decoding.option("--batch", decoded->batch, "Sentences at once").at_least(1);
  decoding.option("--beam", decoded->beams, "Beam size; 1 is greedy").at_least(1);
  decoding.option("--steps", decoded->steps, "Runs to time").at_least(1);

  Command products = add_kind(bench, "gemm", "Speed of single-precision matrix products", options, gemm);
  products.footer("Example: tapeformer bench gemm --precision high");
  add_line_flag(products, *options);
  add_precision(decoding, decoded->common);
  add_device(decoding, decoded->common);
  add_precision(step, options->common);
  add_device(step, options->common);
  add_precision(products, options->common);
  add_device(products, options->common);
}

}  // namespace tape::tools
