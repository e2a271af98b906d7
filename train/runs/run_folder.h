#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../checkpoints/manifest.h"
#include "../distributed/communicator.h"
#include "output_folder.h"

namespace tape::train {

/// The file of a run's folder that holds the command it was started with: RunDescription::command_json.
inline constexpr const char* kRunCommand = "run.json";

/// What to do with a folder that holds a run (a log, checkpoints or a model).
enum class Start {
  fresh,     ///< refuse it
  resume,    ///< go on from its newest good checkpoint; from the start where it has none
  overwrite  ///< remove it when training begins, that is when data, tokenizer and model of the new run are there
};

/// The folder of a run, made where it is missing and locked for this process while the object lives. Unless it must be
/// a fresh one, files that a kill left half written (`model.safetensors.tmp-1234`, see write_file) are removed.
///
/// `inputs` are the files and folders that the same run reads: the folder may be none of them nor, unless the run
/// resumes, hold one.
///
/// Error (config): check_apart_from_inputs(). Error (format): check_links_stay_inside(). Error (io): the folder cannot
/// be made or written; `runs/mt: locked by process 1234, which trains there`; `runs/mt holds another run (log.jsonl):
/// resume it (--resume), overwrite it (--overwrite), or choose another folder`; the same for a fresh run in a folder
/// with any other file.
class RunFolder {
 public:
  /// Whether this process is the one that writes there; one that only reads neither makes nor locks it, and finds it as
  /// the writer has left it.
  enum class Role { writer, reader };
  explicit RunFolder(std::string path, Start start = Start::fresh, const std::vector<std::string>& inputs = {},
                     Role role = Role::writer);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  bool resumes() const { return resumes_; }
  /// Whether what was in the folder is overwritten.
  bool replaces() const { return replaces_; }
  /// Removes the checkpoints and the log that are overwritten, once.
  void remove_replaced_run() const;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// What has been read of its checkpoints and found whole: the lock keeps others from writing there.
  CheckedManifests& checked() const { return checked_; }

 private:
  std::string path_;
  std::optional<FolderLock> lock_;
  bool resumes_, replaces_ = false;
  mutable bool removed_ = false;
  mutable CheckedManifests checked_;
};

/// The folder of a run that these ranks share: rank 0 writes there, the others read. Called by all; Error (io) besides
/// on a rank whose machine does not see the folder.
std::shared_ptr<RunFolder> open_run_folder(const std::shared_ptr<Communicator>& ranks, const std::string& path,
                                           Start start, const std::vector<std::string>& inputs = {});

}  // namespace tape::train
