#pragma once

#include <memory>
#include <string>

#include "distributed/communicator.h"
#include "manifest.h"

namespace tape::train {

/// The file of a run's folder that holds the command it was started with: RunDescription::command_json.
inline constexpr const char* kRunCommand = "run.json";

/// What to do with a folder that holds a run (a log, checkpoints or a model).
enum class Start {
  fresh,     ///< refuse it
  resume,    ///< go on from its newest good checkpoint; from the start where it has none
  overwrite  ///< remove its log and checkpoints; its tokenizer when the new one is saved, its model when training
             ///< begins
};

/// The folder of a run, made where it is missing and locked for this process while the object lives. Unless it must be
/// a fresh one, files that a kill left half written (`model.safetensors.tmp-1234`, see write_file) are removed.
///
/// Error (io): the folder cannot be made or written; `runs/mt: locked by process 1234, which trains there`;
/// `runs/mt holds another run (log.jsonl): resume it (--resume), overwrite it (--overwrite), or choose another folder`.
class RunFolder {
 public:
  /// Whether this process is the one that writes there; one that only reads neither makes nor locks it, and finds it as
  /// the writer has left it.
  enum class Role { writer, reader };
  explicit RunFolder(std::string path, Start start = Start::fresh, Role role = Role::writer);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  bool resumes() const { return resumes_; }
  /// Whether another run, which was in the folder, is overwritten.
  bool replaces() const { return replaces_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// What has been read of its checkpoints and found whole: the lock keeps others from writing there.
  CheckedManifests& checked() const { return checked_; }

 private:
  std::string path_;
  int lock_ = -1;
  bool resumes_, replaces_ = false;
  mutable CheckedManifests checked_;
};

/// The folder of a run that these ranks share: rank 0 writes there, the others read. Called by all; Error (io) besides
/// on a rank whose machine does not see the folder.
std::shared_ptr<RunFolder> open_run_folder(const std::shared_ptr<Communicator>& ranks, const std::string& path,
                                           Start start);

}  // namespace tape::train
