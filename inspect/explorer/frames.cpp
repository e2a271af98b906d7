#include "inspect/explorer/frames.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"
#include "base/short_list.h"
#include "inspect/experiments/patch.h"
#include "inspect/explorer/parts.h"

namespace tape::inspect {
namespace {

struct Run {
  std::vector<PageOutput> outputs;
  std::vector<RecordedOp> steps;
};

/// Runs the study with edited outputs of operations.
Run run_with(const Study& study, const std::vector<OutputEdit>& edits) {
  const EnableGrad recording;  // observers see recorded operations only
  const Composed composed;
  const OutputEdits edited(edits);
  OpRecorder steps;  // after the edits, so that it sees the new values
  Run run{.outputs = study.run(), .steps = {}};
  run.steps = std::move(steps.all());
  if (run.outputs.empty()) raise(ErrorKind::config, "explorer: the study's function returns no output");
  return run;
}

/// Indices of the steps that made each attention module's weights in its last call, in the order of the modules.
std::vector<size_t> weight_steps(const Study& study, const std::vector<RecordedOp>& steps) {
  std::vector<size_t> places;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!is_attention_weights(steps[i]) || study.texts.empty()) continue;
    const AttentionRole between = attention_role_of(study, steps[i].module);
    const Shape& shape = steps[i].output.shape();
    if (shape[2] != std::ssize(study.texts[between.rows].tokens) ||
        shape[3] != std::ssize(study.texts[between.columns].tokens))
      continue;
    const auto known =
        std::ranges::find_if(places, [&](size_t place) { return steps[place].module == steps[i].module; });
    if (known == places.end())
      places.push_back(i);
    else
      *known = i;
  }
  return places;
}

Run cut_run(const Study& study, const HeadAblation& cut) {
  const Run clean = run_with(study, {});
  const std::vector<size_t> places = weight_steps(study, clean.steps);
  const auto place = std::ranges::find_if(places, [&](size_t i) { return clean.steps[i].module == cut.module; });
  if (place == places.end()) {
    std::vector<std::string> modules;
    modules.reserve(places.size());
    for (const size_t i : places) modules.push_back(clean.steps[i].module);
    raise(ErrorKind::config, "cut: \"{}\" has no attention weights; modules that do: {}", cut.module,
          short_list(modules));
  }
  const Tensor& weights = clean.steps[*place].output;
  if (cut.head < 0 || cut.head >= weights.size(1))
    raise(ErrorKind::config, "cut: {}: head {} is outside [0, {})", cut.module, cut.head, weights.size(1));
  return run_with(study, {ablated_head(static_cast<int64_t>(*place), weights, cut.head)});
}

Frame make_frame(const Study& study, const std::string& name, Run run) {
  const NoGrad no_grad;
  Frame frame{.name = name, .texts = study.texts, .corrupted = study.corrupted};
  for (PageOutput& output : run.outputs) {
    output.value = output.value.detach();
    if (output.prediction) output.prediction->logits = output.prediction->logits.detach();
    frame.outputs.push_back(std::move(output));
  }
  for (const size_t place : weight_steps(study, run.steps))
    frame.attention.push_back({run.steps[place].module, select(run.steps[place].output.detach(), 0, 0)});
  return frame;
}

}  // namespace

Frame record_frame(const Study& study, const std::string& name, const std::optional<HeadAblation>& cut) {
  if (!study.run) raise(ErrorKind::config, "explorer: the study has no function to run");
  return make_frame(study, name, cut ? cut_run(study, *cut) : run_with(study, {}));
}

Frame record_frame(const Study& study, const std::string& name, const Activations& from, const ActivationPatch& patch) {
  const PatchedActivations patched(from, patch);
  return make_frame(study, name, run_with(study, {}));
}

}  // namespace tape::inspect
