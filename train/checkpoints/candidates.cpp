#include "train/checkpoints/candidates.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "train/checkpoints/average.h"

namespace tape::train {
namespace {

using Warn = std::function<void(const std::string&)>;

/// Reads a checkpoint; if its file is missing or broken, warns and returns nothing.
template <typename Read>
auto readable(const Warn& warn, const std::string& consequence, const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io && error.kind() != ErrorKind::format) throw;
    warn(fmt::format("{}: {}", consequence, error.what()));
    return std::nullopt;
  }
}

void add_average(std::vector<Candidate>& all, const std::string& kind, std::vector<int64_t> steps,
                 const RunFolder& folder, const CheckpointFiles& files, const Warn& warn) {
  std::vector<nn::StateDict> states;
  std::sort(steps.begin(), steps.end());
  for (const int64_t at : steps) {
    const std::string name = checkpoint_name(at);
    auto state = readable(warn, fmt::format("{} is left out of the average", name),
                          [&] { return load_checkpoint_model(folder.file(name), files); });
    if (state) states.push_back(std::move(*state));
  }
  if (states.size() < 2) return;
  all.push_back({fmt::format("average of the {} {} checkpoints", kind, states.size()), average_states(states)});
}

}  // namespace

std::string name_of_step(int64_t step, bool averaged) {
  return fmt::format("step {}{}", step, averaged ? ", moving average" : "");
}

std::vector<Candidate> saved_candidates(const RunFolder& folder, const TrainerState& state,
                                        const TrainerOptions& options, const CheckpointFiles& files,
                                        const std::function<void(const std::string&)>& warn) {
  std::vector<Candidate> all;
  if (options.average_last > 0) add_average(all, "last", state.planned, folder, files, warn);
  if (options.average_best > 0) {
    std::vector<int64_t> steps;
    const auto count = std::min(std::ssize(state.best), static_cast<std::ptrdiff_t>(options.average_best));
    for (std::ptrdiff_t i = 0; i < count; ++i) steps.push_back(state.best[static_cast<size_t>(i)].step);
    add_average(all, "best", steps, folder, files, warn);
  }
  if (options.keep_best == 0 || state.best.empty() || state.best.front().step == state.step) return all;
  const int64_t step = state.best.front().step;
  auto best = readable(warn, "the best checkpoint is skipped",
                       [&] { return load_checkpoint(folder.file(checkpoint_name(step)), files); });
  if (!best) return all;
  for (const auto& [name, tensor] : best->average) best->model[name] = tensor;
  all.push_back({name_of_step(step, options.ema_decay > 0), std::move(best->model)});
  return all;
}

}  // namespace tape::train
