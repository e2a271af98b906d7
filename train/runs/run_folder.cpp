#include "train/runs/run_folder.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/path.h"
#include "train/checkpoints/checkpoint.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;

constexpr std::array kRunFiles{"log.jsonl", "model.safetensors"};

/// A file that shows that a folder contains a run.
std::optional<std::string> trace_of_run(const std::string& folder) {
  std::error_code ignored;
  for (const char* file : kRunFiles)
    if (fs::exists(folder + "/" + file, ignored)) return file;
  if (const auto steps = checkpoint_steps(folder); !steps.empty()) return checkpoint_name(steps.back());
  return std::nullopt;
}

void remove_half_written(const std::string& folder) {
  std::error_code ignored;
  for (const std::string& name : folder_entries(folder)) {
    const std::string path = join_path(folder, name);
    if (is_unfinished_file(name) && fs::is_regular_file(fs::symlink_status(path, ignored))) remove_path(path);
  }
}

void check_fresh(const std::string& folder) {
  if (const auto trace = trace_of_run(folder))
    raise(ErrorKind::io,
          "{} contains another run ({}): resume it (--resume), overwrite it (--overwrite), or choose another folder",
          folder, *trace);
  if (const auto entry = first_entry(folder))
    raise(ErrorKind::io, "{} contains {}: overwrite it (--overwrite), or choose another folder", folder, *entry);
}

}  // namespace

RunFolder::RunFolder(std::string path, Start start, const std::vector<std::string>& inputs, Role role)
    : path_(std::move(path)), resumes_(start == Start::resume) {
  if (path_.empty()) raise(ErrorKind::config, "run folder: the path is empty");
  if (role == Role::reader) {
    if (!is_folder(path_)) raise(ErrorKind::io, "{}: rank 0 writes to this folder, but this rank cannot see it", path_);
    return;
  }
  (resumes_ ? check_is_not_an_input : check_not_among_inputs)(path_, inputs);
  std::error_code failed;
  fs::create_directories(path_, failed);
  if (failed) raise(ErrorKind::io, "{}: cannot create the folder: {}", path_, failed.message());
  if (start == Start::fresh) check_fresh(path_);  // before creating the lock file in a folder that is rejected
  lock_.emplace(path_);
  if (start == Start::fresh) check_fresh(path_);
  check_links_stay_inside(path_);
  if (start != Start::fresh) remove_half_written(path_);
  replaces_ = start == Start::overwrite && first_entry(path_);
}

void RunFolder::remove_replaced_run() const {
  if (!replaces_ || removed_) return;
  removed_ = true;
  remove_run(path_);
}

std::shared_ptr<RunFolder> open_run_folder(const std::shared_ptr<Communicator>& ranks, const std::string& path,
                                           Start start, const std::vector<std::string>& inputs) {
  Communicator& all = ranks_or_single(ranks);
  std::shared_ptr<RunFolder> folder;
  if (all.is_root()) folder = std::make_shared<RunFolder>(path, start, inputs);
  barrier(all);
  if (!folder) folder = std::make_shared<RunFolder>(path, start, inputs, RunFolder::Role::reader);
  return folder;
}

}  // namespace tape::train
