#include "inspect/pictures/attention_text.h"

#include <fmt/format.h>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "inspect/experiments/attention_probe.h"
#include "inspect/explorer/parts.h"
#include "inspect/pictures/attention_picture.h"
#include "inspect/pictures/heat_map.h"

namespace tape::inspect {
namespace {

/// Runs forward and, if gradients are requested, backward under the probe.
void run(const Study& study, bool gradients) {
  const EnableGrad mode(gradients);
  const std::vector<PageOutput> outputs = study.run();
  if (!gradients) return;
  Tensors parameters;
  for (const NamedTensor& parameter : study.module->named_parameters())
    if (parameter.tensor.requires_grad()) parameters.push_back(parameter.tensor);
  grad({outputs.at(0).value}, parameters, {.allow_unused = true});
}

/// [1, H, Tq, Tk] -> [Tq, Tk], for one head or the mean of all.
Tensor one_head(const Tensor& all, const std::optional<int64_t>& head) {
  const Tensor heads = cast(select(all, 0, 0), f64);
  return head ? select(heads, 0, *head) : mean(heads, 0);
}

}  // namespace

std::string attention_text(const Study& study, const AttentionTextOptions& options) {
  if (!study.module || study.texts.empty())
    raise(ErrorKind::config, "attention_text: the study has no texts that attention is between");
  AttentionProbe probe(*study.module);
  run(study, options.gradients);
  const std::vector<std::string> modules = probe.modules();
  if (modules.empty()) raise(ErrorKind::config, "attention_text: no attention module was called");
  const AttentionRecord record = probe.record(options.block.empty() ? modules.back() : options.block);
  if (options.head && (*options.head < 0 || *options.head >= record.heads))
    raise(ErrorKind::index, "{}: head {} is outside [0, {})", record.module, *options.head, record.heads);
  const NoGrad no_grad;
  const AttentionRole place = attention_role_of(study, record.module);
  const std::vector<std::string>&rows = study.texts[place.rows].tokens, &columns = study.texts[place.columns].tokens;
  const std::string heads =
      options.head ? fmt::format("head {}", *options.head) : fmt::format("mean of {} heads", record.heads);
  std::string text;
  if (options.gradients) {
    const Tensor gradient = one_head(record.gradients.probabilities, options.head);
    text = heat_map(gradient, {.rows = rows,
                               .columns = columns,
                               .title = fmt::format("{}, {}: gradient of the probabilities", record.module, heads),
                               .colors = options.colors,
                               .width = options.columns});
  } else {
    const std::vector<double> weights = one_head(record.values.probabilities, options.head).to_vector<double>();
    text = attention_picture(weights, rows, columns,
                             {.title = fmt::format("{}, {}: probabilities", record.module, heads),
                              .colors = options.colors,
                              .columns = options.columns});
  }
  return text + fmt::format("\nmodules:\n  {}\n", fmt::join(modules, "\n  "));
}

}  // namespace tape::inspect
