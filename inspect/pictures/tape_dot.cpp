#include "inspect/pictures/tape_dot.h"

#include "autograd/tape/graph.h"
#include "autograd/tape/tape.h"
#include "inspect/pictures/dot.h"

namespace tape::inspect {

std::string tape_dot(const Study& study) {
  if (!study.run) raise(ErrorKind::config, "tape_dot: the study has no function to run");
  const EnableGrad recording;
  const Trace trace;
  const TapeValues kept;
  const std::vector<PageOutput> outputs = study.run();
  if (outputs.empty()) raise(ErrorKind::config, "tape_dot: the study's function returns no output");
  const Tensor& output = outputs[0].value;
  check_recorded("tape_dot", output);
  std::vector<NamedTensor> names = study.leaves;
  if (study.module)
    for (const NamedTensor& parameter : study.module->named_parameters()) names.push_back(parameter);
  Tensors leaves;
  for (const NamedTensor& named : names)
    if (named.tensor.requires_grad()) leaves.push_back(named.tensor);
  grad({output}, leaves, {.retain_graph = true, .allow_unused = true});
  return to_dot(output, {.names = names, .kept = &kept});
}

}  // namespace tape::inspect
