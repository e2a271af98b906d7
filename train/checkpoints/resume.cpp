#include "train/checkpoints/resume.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/path.h"
#include "text/json.h"
#include "train/memory/machine.h"
#include "train/runs/settings.h"

namespace tape::train {

std::optional<FoundCheckpoint> find_checkpoint(const RunFolder& folder, const TrainerOptions& options,
                                               const CheckpointFiles& files) {
  if (!folder.resumes()) return std::nullopt;
  CheckpointFiles once = files;
  once.checked = &folder.checked();
  const auto named = [&once](const std::string& path) -> std::optional<FoundCheckpoint> {
    return FoundCheckpoint{path, load_checkpoint(path, once), {}};
  };
  Communicator& ranks = ranks_or_single(options.ranks);
  std::optional<FoundCheckpoint> found;
  if (ranks.is_root())
    found =
        options.resume_from.empty() ? newest_checkpoint(folder.path(), once) : named(folder.file(options.resume_from));
  const std::string chosen = broadcast(ranks, found ? found->folder : "");
  return ranks.is_root() || chosen.empty() ? std::move(found) : named(chosen);
}

std::vector<std::string> set_aside_later_checkpoints(const RunFolder& folder, int64_t step) {
  std::vector<std::string> done;
  for (const int64_t later : checkpoint_steps(folder.path())) {
    if (later <= step) continue;
    const std::string name = checkpoint_name(later), aside = fmt::format("set-aside-{}", name);
    remove_tree(folder.file(aside));
    rename_path(folder.file(name), folder.file(aside));
    done.push_back(fmt::format("{} was renamed to {}: the run resumes from step {}", name, aside, step));
  }
  return done;
}

std::string machine_differences(const TrainerState& before, const TrainerOptions& options) {
  const Machine here = machine();
  std::vector<std::string> all;
  const auto compare = [&all](const char* what, const auto& then, const auto& now) {
    if (then != now) all.push_back(fmt::format("{} {} then, {} now", what, then, now));
  };
  compare("version", before.version, here.version);
  compare("threads", before.threads, here.threads);
  compare("ranks", before.ranks, ranks_or_single(options.ranks).size());
  compare("kernels", before.kernels, here.kernels);
  compare("BLAS", before.blas, here.blas);
  compare("BLAS core", before.blas_core, here.blas_core);
  if (!before.products.empty()) compare("products", before.products, products_in_use(options.precision));
  if (before.settings.empty()) compare("batches per step", before.accumulate, options.accumulate);
  return fmt::format("{}", fmt::join(all, "; "));
}

std::string settings_of(const TrainerOptions& options) {
  nlohmann::ordered_json settings{{"clip_norm", options.clip_norm},
                                  {"accumulate", options.accumulate},
                                  {"ema_decay", options.ema_decay},
                                  {"precision", to_string(options.precision)}};
  if (options.parts > 1) settings["parts"] = options.parts;
  if (!options.settings_json.empty()) settings.update(parse_json(options.settings_json, "settings of the run"));
  return dump_json(settings);
}

std::vector<std::string> changed_settings(const FoundCheckpoint& from, const TrainerOptions& options) {
  const TrainerState& before = from.checkpoint.state;
  if (before.settings.empty()) return {};
  std::vector<std::string> changed = differing_settings(before.settings, settings_of(options));
  if (!changed.empty() && !options.allow_changes)
    raise(ErrorKind::config, "{}: settings differ from those of the run: {}; use --allow-changes to resume anyway",
          from.folder, fmt::to_string(fmt::join(changed, "; ")));
  return changed;
}

}  // namespace tape::train
