#include "autograd/gradcheck/blame.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/gradcheck/blame_search.h"
#include "autograd/gradcheck/unrecorded_reads.h"
#include "autograd/tape/op.h"

namespace tape::detail {
namespace {

/// Returns the conclusion if every operation is right.
std::string no_guilty_text(const BlameSearch& search, const UnrecordedReads& past) {
  const RunGradients& gradients = search.gradients();
  if (gradients.checked + gradients.other_dtypes == 0)
    return "No operation is guilty: the result was not recorded. It was computed in a NoGrad scope, from detach()ed "
           "tensors, or outside of the library's operations.";
  std::string text =
      fmt::format("No operation is guilty: each of the {} on the tape has the right gradient (to {:.0e}).",
                  gradients.checked, kBlameTolerance);
  if (!past.reads.empty())
    text +=
        " So a value bypassed the tape: by detach(), a NoGrad scope, data(), or as a constant computed from an input.";
  else if (!past.not_finite.empty())
    text += fmt::format(" The gradient first becomes NaN or infinite in the backward of {}.", past.not_finite);
  else
    text += " None of their constants and attributes changes with the inputs either.";
  if (!search.undecided().empty())
    text += fmt::format(" Differences were inconclusive for {}.", fmt::join(search.undecided(), "; "));
  if (!gradients.frozen.empty())
    text += fmt::format(" Or it comes from padding, which gets no gradient by design: {}.",
                        fmt::join(gradients.frozen, ", "));
  if (search.has_segments()) text += " Operations inside checkpoint() were not checked.";
  if (gradients.other_dtypes > 0) text += fmt::format(" Not checked, because not in f64: {}.", gradients.other_dtypes);
  return text;
}

bool has_operation(const std::vector<GuiltyOperation>& guilty, const std::vector<const Op*>& ops) {
  return std::any_of(guilty.begin(), guilty.end(), [&](const GuiltyOperation& one) {
    return std::any_of(ops.begin(), ops.end(), [&](const Op* op) { return one.operation == op->name(); });
  });
}

/// Looks into fused operations, if the function has any: adds the guilty steps, or reports that there are none.
void check_fused_steps(const std::function<Tensors()>& f, uint64_t seed, const std::vector<const Op*>& fused,
                       Verdict& verdict) {
  const Composed composed;
  BlameSearch search(f, seed);
  if (search.ops() == fused) return;
  search.differentiate();
  const std::vector<GuiltyOperation> steps = search.run(true);
  if (steps.empty() && !has_operation(verdict.guilty, search.ops()))
    verdict.text =
        "In a Composed scope, where fused operations are recorded step by step, every gradient is right, so the "
        "fused operation's own gradient is wrong.";
  for (const GuiltyOperation& step : steps) {
    const bool known = std::any_of(verdict.guilty.begin(), verdict.guilty.end(), [&](const GuiltyOperation& one) {
      return one.operation == step.operation && one.module_path == step.module_path;
    });
    if (!known) verdict.guilty.push_back(step);
  }
}

}  // namespace

bool can_find_guilty(const std::vector<NamedTensor>& variables, GradcheckReport& report) {
  const auto on_cpu = [](const NamedTensor& variable) { return variable.tensor.device().is_cpu(); };
  if (std::all_of(variables.begin(), variables.end(), on_cpu)) return true;
  report.blame = "Operations are checked one by one on the CPU only.";
  return false;
}

Verdict find_guilty(const std::function<Tensors()>& f, uint64_t seed, const std::vector<NamedTensor>& variables) {
  Verdict verdict;
  try {
    BlameSearch search(f, seed);
    verdict.text = stale_tensor_note(search.replay(), variables);
    if (!verdict.text.empty()) return verdict;
    search.differentiate();
    verdict.guilty = search.run(Composed::active());
    const UnrecordedReads past =
        find_unrecorded_reads(f, search.replay(), search.gradients(), variables, verdict.guilty);
    verdict.unrecorded = past.reads;
    if (verdict.guilty.empty())
      verdict.text = no_guilty_text(search, past);
    else if (!Composed::active())
      check_fused_steps(f, seed, search.ops(), verdict);
  } catch (const Error& error) {
    verdict.text = fmt::format("The search for the guilty operation ended early: {}", error.what());
  }
  return verdict;
}

Verdict find_guilty_gradient(const std::function<Tensors()>& f, uint64_t seed) {
  Verdict verdict;
  try {
    GradientSteps second;
    BlameSearch search(f, seed, second);
    verdict.guilty = search.run(Composed::active());
    for (const auto& [step, miss] : second.not_linear()) {
      verdict.guilty.push_back(search.named(step));
      verdict.guilty.back().gradient = miss;
    }
    for (GuiltyOperation& guilty : verdict.guilty) guilty.derivative = Derivative::second;
    std::stable_sort(verdict.guilty.begin(), verdict.guilty.end(),
                     [](const GuiltyOperation& a, const GuiltyOperation& b) { return a.place < b.place; });
    if (verdict.guilty.empty())
      verdict.text = fmt::format(
          "No operation is guilty: the gradient of each of the {} operations on the tape that could be checked is "
          "itself differentiated correctly (to {:.0e}).{}",
          search.gradients().checked, kBlameTolerance,
          search.has_segments() ? " Operations inside checkpoint() were not checked." : "");
  } catch (const Error& error) {
    verdict.text = fmt::format("The search for the guilty operation ended early: {}", error.what());
  }
  return verdict;
}

}  // namespace tape::detail
