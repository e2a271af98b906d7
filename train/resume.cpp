#include "train/resume.h"

#include <filesystem>

#include <fmt/format.h>

#include "autograd/kernels/bf16_road.h"
#include "base/error.h"
#include "train/machine.h"

namespace tape::train {

std::optional<FoundCheckpoint> find_checkpoint(const RunFolder& folder, const TrainerOptions& options,
                                               const CheckpointFiles& files) {
  if (!folder.resumes()) return std::nullopt;
  if (options.resume_from.empty()) return newest_checkpoint(folder.path(), files);
  const std::string path = folder.file(options.resume_from);
  return FoundCheckpoint{path, load_checkpoint(path, files), {}};
}

std::vector<std::string> set_aside_later_checkpoints(const RunFolder& folder, int64_t step) {
  namespace fs = std::filesystem;
  std::vector<std::string> done;
  for (const int64_t later : checkpoint_steps(folder.path())) {
    if (later <= step) continue;
    const std::string name = checkpoint_name(later), aside = fmt::format("set-aside-{}", name);
    std::error_code failed;
    fs::remove_all(folder.file(aside), failed);
    fs::rename(folder.file(name), folder.file(aside), failed);
    if (failed) raise(ErrorKind::io, "{}: cannot rename: {}", folder.file(name), failed.message());
    done.push_back(fmt::format("{} is now {}: the run goes on from step {}", name, aside, step));
  }
  return done;
}

std::string differences(const TrainerState& before, const TrainerOptions& options) {
  const Machine here = machine();
  std::vector<std::string> all;
  const auto compare = [&all](const char* what, const auto& then, const auto& now) {
    if (then != now) all.push_back(fmt::format("{} {} then, {} now", what, then, now));
  };
  compare("version", before.version, here.version);
  compare("threads", before.threads, here.threads);
  compare("kernels", before.kernels, here.kernels);
  compare("BLAS", before.blas, here.blas);
  compare("BLAS core", before.blas_core, here.blas_core);
  if (!before.products.empty()) compare("products", before.products, kernels::products_in_use(options.precision));
  compare("batches a step", before.accumulate, options.accumulate);
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace tape::train
