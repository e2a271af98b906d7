#include "optim/adamw.h"

namespace tape::optim {

AdamW::AdamW(const ParameterGroups& groups, const AdamWOptions& options)
    : Adam("AdamW", groups,
           {.lr = options.lr,
            .betas = options.betas,
            .eps = options.eps,
            .weight_decay = options.weight_decay,
            .check_finite = options.check_finite,
            .moments = options.moments},
           true) {}

}  // namespace tape::optim
