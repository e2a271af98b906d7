#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tape::train {

/// Lock of a folder in which a process writes: its file `.lock`, locked during the object's lifetime.
///
/// Throws Error (io) if the file is a link or cannot be written, or `runs/mt: locked by process 1234, which is training
/// there`.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// Whether write_file() uses a name for an unfinished file, as in "vocab.json.tmp-1234".
bool is_unfinished_file(const std::string& name);

/// A file in a folder other than those that a failed or killed start leaves there (the lock, unfinished files, tokens).
std::optional<std::string> first_entry(const std::string& folder);

/// Throws Error (config) if the output folder is, or contains, a file or folder that the same command reads, under
/// whatever name. Empty inputs are ignored.
void check_not_among_inputs(const std::string& folder, const std::vector<std::string>& inputs);
/// The same for the output file or folder itself only: files in the folder may be read.
void check_is_not_an_input(const std::string& path, const std::vector<std::string>& inputs);

/// Throws Error (config) if an output file is one of the files in the folder of a run or a model, or is in one of its
/// checkpoints. Those that commands write there (.onnx, .gguf, .html, .dot, .npy) may be written again.
void check_is_not_of_a_run(const std::string& file, const std::string& folder);
/// The same for each of model_inputs().
void check_is_not_of_a_model(const std::string& file, const std::string& model);

/// Throws Error (format) for a symbolic link in the folder, at any depth, that points outside of it: writing there
/// would change files elsewhere.
void check_links_stay_inside(const std::string& folder);

/// The folders that loading a model reads: its own, and for adapters that of the base model. Empty for "".
std::vector<std::string> model_inputs(const std::string& folder);
/// These and `files`, of which some may be "".
std::vector<std::string> inputs_of_run(std::vector<std::string> files, const std::string& init);

/// A folder that a command writes as a whole: first in `folder/.tmp-new`, so that the folder's contents are unchanged
/// until all new files exist. Locked during the object's lifetime. Without complete() nothing of it remains.
///
/// Throws Error (config) as check_not_among_inputs(); Error (io) as FolderLock, or `out contains config.json:
/// overwrite it (--overwrite), or choose another folder` if the folder is not empty, unless `overwrite`.
class StagedFolder {
 public:
  StagedFolder(std::string path, const std::vector<std::string>& inputs, bool overwrite);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  /// Where to write.
  const std::string& staging() const { return staging_; }
  /// Removes the model, the tokenizer and the run in the folder, and moves the new files there. Other files are kept.
  void complete();

 private:
  std::string path_, staging_;
  bool made_ = false, made_lock_ = false, completed_ = false;
  std::optional<FolderLock> lock_;
};

}  // namespace tape::train
