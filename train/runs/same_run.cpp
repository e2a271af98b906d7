#include "train/runs/same_run.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/kernels/product/common/bf16_road.h"
#include "base/error.h"
#include "base/json.h"
#include "train/checkpoints/resume.h"
#include "train/distributed/same.h"
#include "train/memory/machine.h"
#include "train/runs/settings.h"

namespace tape::train {
namespace {

/// What the bits depend on, and when a run steps, evaluates, saves and ends: where ranks differ in that, one waits for
/// ever for what another does not do.
std::string settings_of_ranks(const TrainerOptions& options) {
  nlohmann::ordered_json settings = parse_json(settings_of(options), "settings of the run");
  settings.update({{"steps", options.steps},
                   {"seconds", options.seconds},
                   {"evaluate_every", options.evaluate_every},
                   {"patience", options.patience},
                   {"checkpoint_every", options.checkpoint_every},
                   {"average_last", options.average_last},
                   {"average_best", options.average_best}});
  return settings.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

void check_same_run(Communicator& ranks, const TrainerOptions& options) {
  const Machine here = machine();
  check_same_text(ranks, "the version", here.version);
  check_same_text(ranks, "the kernels", here.kernels);
  check_same_text(ranks, "the products", kernels::products_in_use(options.precision));
  const std::vector<std::string> all = all_gather(ranks, settings_of_ranks(options));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (const auto differ = differing_settings(all[0], all[rank], "on rank 0", fmt::format("on rank {}", rank));
        !differ.empty())
      raise(ErrorKind::config, "Trainer: the ranks have other settings: {}", fmt::join(differ, "; "));
}

}  // namespace tape::train
