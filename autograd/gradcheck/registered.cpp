#include "autograd/gradcheck/registered.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "autograd/tape/graph.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/leaves.h"
#include "base/static_list.h"
#include "base/table.h"

namespace tape {
namespace {

constinit StaticList<CheckSource> sources;

/// Returns the options of a sample; allows gradients that are zero by design.
GradcheckOptions options_for(const OpSample& sample, GradcheckOptions options) {
  if (sample.step > 0) options.eps = sample.step;
  const bool empty = sample.call(sample.inputs).numel() == 0;
  options.names.clear();
  options.allow_zero.clear();
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    options.names.push_back("input " + std::to_string(i));
    if (empty || sample.inputs[i].numel() == 0 || sample.zero_gradient)
      options.allow_zero.push_back(options.names.back());
  }
  return options;
}

/// Whether the tape of the sample's output has a node of this operation.
bool records(const Op& op, const OpSample& sample) {
  const EnableGrad recording;
  const Tensor output = sample.call(Leaves(sample.inputs).all);
  const std::vector<const Node*> nodes = nodes_behind({output});
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) { return node->op == &op; });
}

const char* verdict_of(const RegisteredReport::Entry& entry) {
  if (!entry.error.empty()) return "NOT CHECKED";
  const auto any = [&](bool (*is)(const GradcheckResult&)) {
    return std::any_of(entry.report.variables.begin(), entry.report.variables.end(), is);
  };
  if (any([](const GradcheckResult& result) { return result.wrong > 0 || result.all_zero; })) return "WRONG";
  if (any([](const GradcheckResult& result) { return result.undecided > 0; })) return "UNDECIDED";
  return entry.report.unregistered.empty() ? "ok" : "NOT REGISTERED";
}

std::string line_of(const RegisteredReport::Entry& entry) {
  return fmt::format("{} ({}), {}", entry.name, entry.label,
                     entry.derivative == Derivative::first ? "gradient" : "second derivative");
}

}  // namespace

RegisteredCheck check_of(const Op& op) {
  RegisteredCheck check{op.name(), {}};
  for (const OpSample& sample : op.samples()) {
    const auto run = [&op, sample](Derivative derivative, const GradcheckOptions& options) {
      if (!records(op, sample))
        raise(ErrorKind::graph, "{}: the sample '{}' does not record this operation", op.name(), sample.label);
      const GradcheckOptions own = options_for(sample, options);
      return derivative == Derivative::first ? gradcheck(sample.call, sample.inputs, own)
                                             : gradgradcheck(sample.call, sample.inputs, own);
    };
    check.samples.push_back({sample.label, run});
  }
  return check;
}

CheckSource::CheckSource(std::function<std::vector<RegisteredCheck>()> checks) : checks_(std::move(checks)) {
  sources.add(*this);
}

CheckSource::~CheckSource() { sources.remove(*this); }

std::vector<RegisteredCheck> registered_checks() {
  std::vector<RegisteredCheck> all;
  for (const Op* op : registered_ops(Origin::program)) all.push_back(check_of(*op));
  for (const CheckSource* source : sources.all())
    for (RegisteredCheck& check : source->checks()) all.push_back(std::move(check));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

RegisteredReport gradcheck_all_registered(const RegisteredOptions& options) {
  RegisteredReport report;
  for (const RegisteredCheck& check : registered_checks()) {
    for (const RegisteredSample& sample : check.samples) {
      for (const Derivative derivative : {Derivative::first, Derivative::second}) {
        if (derivative == Derivative::second && !options.second_derivatives) continue;
        RegisteredReport::Entry& entry = report.entries.emplace_back();
        entry.name = check.name;
        entry.label = sample.label;
        entry.derivative = derivative;
        try {
          entry.report = sample.check(derivative, options.gradcheck);
        } catch (const Error& error) {
          entry.error = error.what();
        }
      }
    }
  }
  return report;
}

bool RegisteredReport::ok() const {
  return !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const Entry& entry) { return entry.ok(); });
}

std::string to_string(const RegisteredReport& report) {
  if (report.entries.empty()) return "gradcheck: nothing is registered";
  using enum TextTable::Align;
  TextTable table({{left}, {left}, {left}, {left}});
  table.add({"name", "sample", "derivative", "verdict"});
  std::string wrong;
  int64_t failed = 0;
  for (const RegisteredReport::Entry& entry : report.entries) {
    table.add({entry.name, entry.label, entry.derivative == Derivative::first ? "first" : "second", verdict_of(entry)});
    if (entry.ok()) continue;
    ++failed;
    wrong += fmt::format("\n{}: {}\n", line_of(entry), entry.error.empty() ? to_string(entry.report) : entry.error);
  }
  std::string text =
      fmt::format("gradcheck: {} of {} checks failed\n", failed, report.entries.size()) + table.text() + wrong;
  text.pop_back();
  return text;
}

std::ostream& operator<<(std::ostream& stream, const RegisteredReport& report) { return stream << to_string(report); }

}  // namespace tape
