#pragma once

#include <gmock/gmock.h>

#include "autograd/gradcheck/blame.h"
#include "autograd/random.h"
#include "autograd/tape/op.h"

namespace tape {

/// Checks that a search for wrong gradients clears every sample in the registry.
inline void expect_no_wrong_operation(detail::Verdict (*find)(const std::function<Tensors()>&, uint64_t)) {
  int checked = 0;
  for (const Op* op : registered_ops()) {
    for (const OpSample& sample : op->samples()) {
      Tensors leaves;
      for (const Tensor& input : sample.inputs) leaves.push_back(input.detach().clone().requires_grad_());
      const ForkRandom random;
      const auto f = [&] {
        random.rewind();
        return Tensors{sample.call(leaves)};
      };
      const detail::Verdict verdict = find(f, 1);
      EXPECT_THAT(verdict.text, testing::StartsWith("No operation is guilty")) << op->name() << ": " << sample.label;
      for (const GuiltyOperation& guilty : verdict.guilty)
        ADD_FAILURE() << op->name() << ": " << sample.label << ": " << to_string(guilty);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

}  // namespace tape
