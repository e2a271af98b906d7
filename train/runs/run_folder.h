#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../checkpoints/manifest.h"
#include "../distributed/communicator.h"
#include "output_folder.h"

namespace tape::train {

/// File in a run's folder with the command that started it: RunDescription::command_json.
inline constexpr const char* kRunCommand = "run.json";

/// How to treat a folder that contains a run (a log, checkpoints or a model).
enum class Start {
  fresh,     ///< reject it
  resume,    ///< resume from its newest good checkpoint, or from the start if there is none
  overwrite  ///< remove it when training starts, that is, once the new run's data, tokenizer and model are ready
};

/// The folder of a run, created if missing and locked for this process during the object's lifetime. Except with
/// Start::fresh, unfinished files of a killed process (`model.safetensors.tmp-1234`, see write_file) are removed.
///
/// `inputs` are the files and folders that the run reads. The folder may not be one of them and, unless the run
/// resumes, may not contain one.
///
/// Throws Error (config) as check_not_among_inputs(); Error (format) as check_links_stay_inside(); Error (io) if the
/// folder cannot be created or written; `runs/mt: locked by process 1234, which is training there`; `runs/mt contains
/// another run (log.jsonl): resume it (--resume), overwrite it (--overwrite), or choose another folder`; the same for a
/// fresh run in a folder with any other file.
class RunFolder {
 public:
  /// `writes`: whether this process writes there. A process that only reads neither creates nor locks the folder, and
  /// uses it as the writer left it.
  enum class Role { writer, reader };
  /// Opens or creates the folder; a reader ignores `inputs`. Throws the errors above; Error (io) for a reader that
  /// cannot see the folder.
  explicit RunFolder(std::string path, Start start = Start::fresh, const std::vector<std::string>& inputs = {},
                     Role role = Role::writer);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// The path given to the constructor.
  const std::string& path() const { return path_; }
  /// Whether the run resumes (Start::resume).
  bool resumes() const { return resumes_; }
  /// Whether existing contents are overwritten.
  bool replaces() const { return replaces_; }
  /// Removes the checkpoints and the log that are to be overwritten; only the first call has an effect.
  void remove_replaced_run() const;
  /// Path of a file in the folder; the file need not exist.
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Which of its checkpoints were read and verified. Valid because the lock keeps others from writing there.
  VerifiedManifests& checked() const { return checked_; }

 private:
  std::string path_;
  std::optional<FolderLock> lock_;
  bool resumes_, replaces_ = false;
  mutable bool removed_ = false;
  mutable VerifiedManifests checked_;
};

/// The folder of a run that these ranks share: rank 0 writes there, the others read. All ranks must call it. Also
/// throws Error (io) on a rank whose machine cannot see the folder.
std::shared_ptr<RunFolder> open_run_folder(const std::shared_ptr<Communicator>& ranks, const std::string& path,
                                           Start start, const std::vector<std::string>& inputs = {});

}  // namespace tape::train
