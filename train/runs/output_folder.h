#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tape::train {

/// The lock of a folder in which a process writes: its file `.lock`, held while the object lives.
///
/// Error (io): the file is a link or cannot be written; `runs/mt: locked by process 1234, which trains there`.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// "vocab.json.tmp-1234", as write_file() names the file that it has not finished.
bool is_half_written(const std::string& name);

/// A file that a folder holds beside what a start that failed or was killed leaves there (the lock, unfinished files,
/// the tokens of a text).
std::optional<std::string> first_entry(const std::string& folder);

/// Error (config) where a folder that is written is one of the files or folders that the same command reads, or holds
/// one of them, under whatever name. Empty inputs are none.
void check_apart_from_inputs(const std::string& folder, const std::vector<std::string>& inputs);
/// The same for the folder itself alone: what lies in it may be read.
void check_is_no_input(const std::string& folder, const std::vector<std::string>& inputs);

/// Error (format) for a link among the folder's files, those in its folders included, that leaves it: what is written
/// there would land elsewhere.
void check_links_stay_inside(const std::string& folder);

/// What is read for a model of a folder: it, and for adapters the folder of the model below them. Nothing for "".
std::vector<std::string> model_inputs(const std::string& folder);
/// These and `files`, of which some may be "".
std::vector<std::string> read_by_run(std::vector<std::string> files, const std::string& init);

/// A folder that a command writes as a whole: in `folder/.tmp-new` first, so that what the folder holds stays as it is
/// until everything new is there. Locked while the object lives. Without complete() nothing of it remains.
///
/// Error (config): as check_apart_from_inputs(). Error (io): as FolderLock; `out holds config.json; overwrite it, or
/// choose another folder` for a folder that is not empty, unless `overwrite`.
class NewFolder {
 public:
  NewFolder(std::string path, const std::vector<std::string>& inputs, bool overwrite);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Where to write.
  const std::string& staging() const { return staging_; }
  /// Removes the model, the tokenizer and the run that the folder holds, and moves the new files there. Files of other
  /// names stay.
  void complete();

 private:
  std::string path_, staging_;
  bool made_ = false, made_lock_ = false, completed_ = false;
  std::optional<FolderLock> lock_;
};

}  // namespace tape::train
