#include "train/runs/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "models/adapters/adapter_folder.h"
#include "models/folders/folder.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/checkpoints/checkpoint.h"
#include "train/data/token_store.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".lock";

/// The process whose id is in the lock file.
std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t size = pread(lock, text.data(), text.size(), 0);
  std::string_view number(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
  number = number.substr(0, number.find_first_not_of("0123456789"));
  return number.empty() ? "another process" : fmt::format("process {}", number);
}

void lock(int descriptor, const std::string& folder, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) raise_errno(path, "inspect the file", errno);
  if (!S_ISREG(status.st_mode)) raise(ErrorKind::io, "{}: not a regular file; remove it", path);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) raise_errno(path, "lock", errno);
    raise(ErrorKind::io, "{}: locked by {}, which is training there", folder, holder_of(descriptor));
  }
  const std::string number = fmt::format("{}\n", getpid());
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, number.data(), number.size(), 0) < 0)
    raise_errno(path, "write", errno);
}

/// Compares canonical paths and inodes, so that other names of the same file are found.
bool are_same(const std::string& one, const std::string& other) {
  std::error_code not_there;
  return fs::equivalent(one, other, not_there) || canonical_path(one) == canonical_path(other);
}

bool is_link(const std::string& path) {
  std::error_code failed;
  return fs::is_symlink(fs::symlink_status(path, failed));
}

void move_files(const std::string& from, const std::string& to) {
  for (const std::string& name : folder_entries(from)) {
    const std::string source = join_path(from, name), target = join_path(to, name);
    if (is_link(source) || !is_folder(source)) {
      rename_path(source, target);
      continue;
    }
    make_folder(target);
    move_files(source, target);
  }
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = join_path(folder, kLock);
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  if (descriptor_ < 0 && errno == ELOOP)
    raise(ErrorKind::io, "{}: a lock file must not be a symbolic link; remove it", path);
  if (descriptor_ < 0) raise_errno(path, "create the file", errno);
  try {
    lock(descriptor_, folder, path);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

FolderLock::~FolderLock() { close(descriptor_); }

bool is_unfinished_file(const std::string& name) {
  constexpr std::string_view kMark = ".tmp-";
  const size_t mark = name.rfind(kMark);
  if (mark == std::string::npos || mark == 0 || mark + kMark.size() == name.size()) return false;
  return name.find_first_not_of("0123456789", mark + kMark.size()) == std::string::npos;
}

std::optional<std::string> first_entry(const std::string& folder) {
  for (const std::string& name : folder_entries(folder)) {
    if (name == kLock || name.starts_with(".tmp-") || is_unfinished_file(name)) continue;
    if (name == "tokens" && holds_tokens_only(folder)) continue;
    return name;
  }
  return std::nullopt;
}

void check_is_not_an_input(const std::string& path, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (input.empty() || !are_same(path, input)) continue;
    const char* const kind = is_folder(input) ? "folder" : "file";
    raise(ErrorKind::config, "{}: this command reads {} {}{}; choose another output {}", path,
          is_folder(input) ? "from that" : "that", kind, path == input ? "" : fmt::format(" as {}", input), kind);
  }
}

void check_not_among_inputs(const std::string& folder, const std::vector<std::string>& inputs) {
  check_is_not_an_input(folder, inputs);
  for (const std::string& input : inputs)
    if (!input.empty() && is_inside(input, folder))
      raise(ErrorKind::config, "{}: contains {}, which this command reads; choose another output folder", folder,
            input);
}

void check_is_not_of_a_run(const std::string& file, const std::string& folder) {
  constexpr std::array kWritten{".onnx", ".gguf", ".html", ".dot", ".npy"};
  if (!is_folder(folder)) return;
  for (const std::string& name : folder_entries(folder)) {
    if (std::ranges::any_of(kWritten, [&](const char* ending) { return name.ends_with(ending); })) continue;
    const std::string path = join_path(folder, name);
    const bool whole = is_folder(path) && (name == "tokens" || name.starts_with("checkpoint-"));
    if ((are_same(file, path) && (whole || !is_folder(path))) || (whole && is_inside(file, path)))
      raise(ErrorKind::config, "{}: is a file of {}, which this command reads; choose another output file", file,
            folder);
  }
}

void check_is_not_of_a_model(const std::string& file, const std::string& model) {
  for (const std::string& folder : model_inputs(model)) check_is_not_of_a_run(file, folder);
}

void check_links_stay_inside(const std::string& folder) {
  for (const std::string& name : folder_entries(folder)) {
    const std::string path = file_in_folder(folder, name);
    if (!is_link(path) && is_folder(path)) check_links_stay_inside(path);
  }
}

std::vector<std::string> model_inputs(const std::string& folder) {
  if (folder.empty()) return {};
  if (!models::is_adapter_folder(folder)) return {folder};
  return {folder, models::base_model_folder(folder)};
}

std::vector<std::string> inputs_of_run(std::vector<std::string> files, const std::string& init) {
  for (std::string& folder : model_inputs(init)) files.push_back(std::move(folder));
  return files;
}

StagedFolder::StagedFolder(std::string path, const std::vector<std::string>& inputs, bool overwrite)
    : path_(std::move(path)), staging_(join_path(path_, ".tmp-new")) {
  if (path_.empty()) raise(ErrorKind::config, "the path of the output folder is empty");
  check_not_among_inputs(path_, inputs);
  made_ = !path_exists(path_);
  make_folder(path_);
  if (const auto entry = first_entry(path_); entry && !overwrite)
    raise(ErrorKind::io, "{} contains {}: overwrite it (--overwrite), or choose another folder", path_, *entry);
  check_links_stay_inside(path_);
  // Last, so that a rejected folder is left unchanged.
  made_lock_ = !path_exists(join_path(path_, kLock));
  lock_.emplace(path_);
  remove_tree(staging_);
  make_folder(staging_);
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  try {
    remove_all(staging_, ignored);
  } catch (...) {  // out of memory: the next command removes the staged files
  }
  if (made_lock_) fs::remove(join_path(path_, kLock), ignored);
  if (made_ && !completed_) fs::remove(path_, ignored);  // fails if it is not empty
}

void StagedFolder::complete() {
  models::remove_model(path_);
  text::remove_tokenizer(path_);
  remove_run(path_);
  remove_tokens(path_);
  move_files(staging_, path_);
  completed_ = true;
}

}  // namespace tape::train
