#include "models/run_inputs.h"

#include "autograd/ops/shape/shape.h"

namespace tape::models {

Tensor positions_of(const RunInputs& in, const Tensor& ids) {
  const Tensor positions = in.find("position_ids");
  if (!positions.defined()) return {};
  if (positions.size(1) != ids.size(1) || (positions.size(0) != 1 && positions.size(0) != ids.size(0)))
    raise(ErrorKind::shape, "run: position_ids {} do not fit ids {}", to_string(positions.shape()),
          to_string(ids.shape()));
  return expand_to(positions, ids.shape());
}

}  // namespace tape::models
