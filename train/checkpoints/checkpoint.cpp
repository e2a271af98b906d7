#include "train/checkpoints/checkpoint.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "autograd/io/safetensors.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/short_list.h"
#include "train/checkpoints/trainer_state.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr const char* kModel = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kAverage = "average.safetensors";
constexpr const char* kState = "trainer_state.json";

[[noreturn]] void raise_code(const std::string& path, const char* action, const std::error_code& failed) {
  raise(ErrorKind::io, "{}: cannot {}: {}", path, action, failed.message());
}

/// N of "checkpoint-N".
std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  return step >= 0 && name == checkpoint_name(step) ? std::optional(step) : std::nullopt;
}

/// Removes what an earlier, interrupted save left.
void remove_leftovers(const std::string& run) {
  if (!is_folder(run)) return;
  for (const std::string& name : folder_entries(run))
    if (name.starts_with(".tmp-")) remove_tree(join_path(run, name));
}

void write_files(const std::string& folder, const Checkpoint& checkpoint, const CheckpointFiles& files) {
  if (files.more) files.more(folder);
  if (files.save_model)
    files.save_model(folder);
  else
    save_safetensors(join_path(folder, kModel), checkpoint.model);
  if (files.save_optimizer)
    files.save_optimizer(join_path(folder, kOptimizer));
  else
    save_safetensors(join_path(folder, kOptimizer), checkpoint.optimizer);
  if (!checkpoint.average.empty()) save_safetensors(join_path(folder, kAverage), checkpoint.average);
  write_file(join_path(folder, kState), to_json(checkpoint.state));
  write_manifest(folder);
}

/// Renames a folder before removing it: a kill in between must not leave a partial folder under its name.
void remove_at_once(const std::string& run, const std::string& name) {
  const std::string folder = join_path(run, name), dying = join_path(run, fmt::format(".tmp-old-{}", name));
  rename_path(folder, dying);
  remove_tree(dying);
}

/// Gives a new checkpoint its name, atomically exchanging it with an existing one of that name.
void move_into_place(const std::string& run, const std::string& made, const std::string& name) {
  const std::string folder = join_path(run, name);
  std::error_code failed;
  if (fs::exists(fs::symlink_status(folder, failed))) {
    // glibc has a function for this call only since 2.28.
    if (syscall(SYS_renameat2, AT_FDCWD, made.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) return;
    if (errno != EINVAL && errno != ENOSYS) raise_errno(folder, "replace the checkpoint", errno);
    remove_at_once(run, name);  // this file system cannot exchange names
  }
  fs::rename(made, folder, failed);
  if (failed) raise_code(folder, "rename the new checkpoint to it", failed);
}

nn::StateDict tensors_of(const std::string& path) { return load_safetensors(path).tensors; }

nn::StateDict model_of(const std::string& folder, const CheckpointFiles& files) {
  if (!files.load_model) return tensors_of(join_path(folder, kModel));
  // Constructing the model draws initial weights.
  const ForkRandom random;
  return files.load_model(folder);
}

/// The newest checkpoint that `read` accepts without an Error.
template <class Read>
std::optional<FoundCheckpoint> newest_that_reads(const std::string& run, const Read& read) {
  const std::vector<int64_t> steps = checkpoint_steps(run);
  if (steps.empty()) return std::nullopt;
  FoundCheckpoint found;
  std::vector<std::string> broken;
  for (size_t i = steps.size(); i-- > 0;) {
    found.folder = join_path(run, checkpoint_name(steps[i]));
    try {
      read(found);
      return found;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::out_of_memory) throw;
      found.warnings.push_back(
          fmt::format("{} is broken and was skipped: {}", checkpoint_name(steps[i]), error.what()));
      broken.emplace_back(error.what());
    }
  }
  raise(ErrorKind::format, "{}: all of its {} checkpoints are broken:\n  {}", run, steps.size(),
        short_list(broken, "\n  "));
}

void check_files(const std::string& folder, std::vector<std::string> needed, const CheckpointFiles& files) {
  if (!files.load_model) needed.emplace_back(kModel);
  VerifiedManifests none;
  (files.checked ? files.checked : &none)->check(folder, needed);
}

}  // namespace

std::string checkpoint_name(int64_t step) { return fmt::format("{}{}", kPrefix, step); }

std::vector<int64_t> checkpoint_steps(const std::string& run) {
  std::vector<int64_t> steps;
  if (!path_exists(run)) return steps;
  for (const std::string& name : folder_entries(run))
    if (const auto step = step_of(name)) steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string save_checkpoint(const std::string& run, const Checkpoint& checkpoint, const CheckpointFiles& files) {
  remove_leftovers(run);
  const std::string name = checkpoint_name(checkpoint.state.step);
  const std::string made = join_path(run, fmt::format(".tmp-{}", name));
  std::string folder = join_path(run, name);
  std::error_code failed;
  fs::create_directory(made, failed);
  if (failed) raise_code(made, "create the folder", failed);
  try {
    write_files(made, checkpoint, files);
    move_into_place(run, made, name);
  } catch (...) {
    remove_all(made, failed);
    throw;
  }
  flush_to_disk(run);
  remove_tree(made);  // the one that was replaced
  return folder;
}

TrainerState load_checkpoint_state(const std::string& folder) {
  const std::string where = join_path(folder, kState);
  TrainerState state = trainer_state_from(read_text(where), where);
  if (const auto named = step_of(fs::path(folder).filename().string()); named && *named != state.step)
    raise(ErrorKind::format, "{}: \"step\" must be {} to match the folder's name, got {}", where, *named, state.step);
  return state;
}

Checkpoint load_checkpoint(const std::string& folder, const CheckpointFiles& files) {
  check_files(folder, {kOptimizer, kState}, files);
  Checkpoint checkpoint;
  checkpoint.state = load_checkpoint_state(folder);
  checkpoint.model = model_of(folder, files);
  checkpoint.optimizer = tensors_of(join_path(folder, kOptimizer));
  if (path_exists(join_path(folder, kAverage))) checkpoint.average = tensors_of(join_path(folder, kAverage));
  return checkpoint;
}

nn::StateDict load_checkpoint_model(const std::string& folder, const CheckpointFiles& files) {
  check_files(folder, {}, files);
  return model_of(folder, files);
}

std::optional<FoundCheckpoint> newest_checkpoint(const std::string& run, const CheckpointFiles& files) {
  return newest_that_reads(
      run, [&files](FoundCheckpoint& found) { found.checkpoint = load_checkpoint(found.folder, files); });
}

std::optional<std::string> newest_intact_folder(const std::string& run, VerifiedManifests& checked) {
  const auto found = newest_that_reads(run, [&](FoundCheckpoint& candidate) { checked.check(candidate.folder, {}); });
  return found ? std::optional(found->folder) : std::nullopt;
}

void remove_run(const std::string& run) {
  for (const int64_t step : checkpoint_steps(run)) remove_at_once(run, checkpoint_name(step));
  for (const char* name : {"log.jsonl", "report.html", "run.json"})
    if (!is_folder(join_path(run, name))) remove_path(join_path(run, name));  // the run creates no such folder
}

void remove_checkpoints_except(const std::string& run, const std::vector<int64_t>& keep) {
  remove_leftovers(run);
  for (int64_t step : checkpoint_steps(run))
    if (std::find(keep.begin(), keep.end(), step) == keep.end()) remove_at_once(run, checkpoint_name(step));
}

}  // namespace tape::train
