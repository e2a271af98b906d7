#include "train/same_run.h"

#include <fmt/format.h>

#include "autograd/kernels/bf16_road.h"
#include "base/error.h"
#include "train/distributed/same.h"
#include "train/machine.h"
#include "train/resume.h"
#include "train/settings.h"

namespace tape::train {

void check_same_run(Communicator& ranks, const TrainerOptions& options) {
  const Machine here = machine();
  check_same_text(ranks, "the version", here.version);
  check_same_text(ranks, "the kernels", here.kernels);
  check_same_text(ranks, "the products", kernels::products_in_use(options.precision));
  const std::vector<std::string> all = all_gather(ranks, settings_of(options));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (const auto differ = differing_settings(all[0], all[rank], "on rank 0", fmt::format("on rank {}", rank));
        !differ.empty())
      raise(ErrorKind::config, "Trainer: the ranks have other settings: {}", fmt::join(differ, "; "));
}

}  // namespace tape::train
