#include "inspect/live/live_edits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/ranges.h>

#include "base/short_list.h"
#include "inspect/live/live_run_map.h"
#include "nn/module/tensor_swap.h"

namespace tape::inspect {
namespace {

constexpr std::array<std::pair<const char*, LiveEdit::Kind>, 8> kKinds{{{"parameter", LiveEdit::Kind::parameter},
                                                                        {"value", LiveEdit::Kind::value},
                                                                        {"score", LiveEdit::Kind::score},
                                                                        {"weight", LiveEdit::Kind::weight},
                                                                        {"mask", LiveEdit::Kind::mask},
                                                                        {"temperature", LiveEdit::Kind::temperature},
                                                                        {"position", LiveEdit::Kind::position},
                                                                        {"ablate", LiveEdit::Kind::ablate}}};

LiveEdit::Kind parse_kind(const LiveRequest& request) {
  const std::string name = request.text("kind");
  std::vector<std::string> known;
  for (const auto& [text, kind] : kKinds) {
    if (name == text) return kind;
    known.emplace_back(text);
  }
  raise(ErrorKind::config, "{}: unknown kind \"{}\"; known are {}", request.path_of("kind"), name, short_list(known));
}

LiveEdit parse_edit(const LiveRequest& request) {
  using Kind = LiveEdit::Kind;
  LiveEdit edit{.kind = parse_kind(request), .where = request.path_of("")};
  const Kind kind = edit.kind;
  if (kind == Kind::parameter) edit.name = request.text("name");
  if (kind == Kind::value) edit.recorded = request.integer("recorded");
  if (kind == Kind::parameter || kind == Kind::value) edit.index = request.integers("index");
  if (kind == Kind::position) {
    edit.text = request.integer("text");
    edit.token = request.integer("token");
    edit.position = request.integer("position");
  } else if (kind != Kind::parameter && kind != Kind::value) {
    edit.module = request.text("module");
    const bool needs_head = kind != Kind::mask && kind != Kind::temperature;
    edit.head = needs_head ? request.integer("head") : request.optional_integer("head");
  }
  if (kind == Kind::score || kind == Kind::weight || kind == Kind::mask) {
    edit.query = request.integer("query");
    edit.key = request.integer("key");
  }
  if (kind != Kind::position && kind != Kind::mask && kind != Kind::ablate) edit.value = request.number("value");
  if (kind == Kind::temperature && !(edit.value > 0))
    raise(ErrorKind::config, "{}: must be greater than 0, got {}", request.path_of("value"), edit.value);
  return edit;
}

/// Parameters with edited elements, keyed by the original.
std::unordered_map<const TensorImpl*, Tensor> edited_parameters(const Study& study,
                                                                const std::vector<LiveEdit>& edits) {
  std::unordered_map<const TensorImpl*, Tensor> edited;
  for (const LiveEdit& edit : edits) {
    if (edit.kind != LiveEdit::Kind::parameter) continue;
    const std::vector<NamedTensor> parameters =
        study.module ? study.module->named_parameters() : std::vector<NamedTensor>();
    const auto found = std::ranges::find(parameters, edit.name, &NamedTensor::name);
    if (found == parameters.end()) {
      std::vector<std::string> names;
      for (const NamedTensor& parameter : parameters) names.push_back(parameter.name);
      raise(ErrorKind::config, "{}name: no parameter \"{}\"; there are {}", edit.where, edit.name, short_list(names));
    }
    const int64_t flat = flat_index(edit, found->tensor.shape(), edit.name);
    Tensor& now = edited.try_emplace(&found->tensor.impl(), found->tensor).first->second;
    now = with_element(now.detach(), flat, edit.value).requires_grad_(found->tensor.requires_grad());
  }
  return edited;
}

}  // namespace

int64_t flat_index(const LiveEdit& edit, const Shape& shape, const std::string& of) {
  if (std::ssize(edit.index) != shape.rank())
    raise(ErrorKind::index, "{}index: [{}] has {} entries, but {} is {}", edit.where,
          fmt::to_string(fmt::join(edit.index, ", ")), edit.index.size(), of, to_string(shape));
  int64_t flat = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const int64_t at = edit.index[static_cast<size_t>(axis)];
    if (at < 0 || at >= shape[axis])
      raise(ErrorKind::index, "{}index: [{}] is outside {} of {}", edit.where,
            fmt::to_string(fmt::join(edit.index, ", ")), to_string(shape), of);
    flat = flat * shape[axis] + at;
  }
  return flat;
}

std::vector<LiveEdit> parse_live_edits(const LiveRequest& request) {
  std::vector<LiveEdit> edits;
  for (const LiveRequest& edit : request.objects("edits")) edits.push_back(parse_edit(edit));
  return edits;
}

/// The edits of the values while the study runs, and of attention that is computed again.
class EditedStudy::Scope {
 public:
  Scope(const Study& study, const std::vector<LiveEdit>& edits) {
    std::vector<OutputEdit> outputs;
    std::map<std::string, AttentionEdits> attention;
    if (std::ranges::any_of(edits, [](const LiveEdit& e) { return e.kind != LiveEdit::Kind::parameter; })) {
      const LiveRunMap run(study);
      for (const LiveEdit& edit : edits)
        if (edit.kind == LiveEdit::Kind::value)
          outputs.push_back(value_edit(run, edit));
        else if (edit.kind == LiveEdit::Kind::position)
          outputs.push_back(position_edit(study, run, edit));
        else if (edit.kind != LiveEdit::Kind::parameter)
          outputs.push_back(attention_edit(run, edit, edits));
      for (const LiveEdit& edit : edits)
        if (edit.kind == LiveEdit::Kind::mask) attention[edit.module].hidden.push_back(edit);
      for (const OutputEdit& edit : outputs)
        if (const auto step = run.attention_step(edit.place))
          attention[step->first].steps.emplace_back(step->second, edit);
    }
    auto parameters = edited_parameters(study, edits);
    if (!parameters.empty()) swap_.emplace(*study.module, std::move(parameters));
    edits_.emplace(std::move(outputs), std::move(attention));
  }

  void start() { edits_->start(); }

 private:
  std::optional<nn::TensorSwap> swap_;
  std::optional<RunEdits> edits_;
};

EditedStudy::EditedStudy(const Study& study, const std::vector<LiveEdit>& edits) : study_(study) {
  if (edits.empty()) return;
  scope_ = std::make_unique<Scope>(study, edits);
  study_.run = [scope = scope_.get(), run = study.run] {
    scope->start();
    return run();
  };
}

EditedStudy::~EditedStudy() = default;

}  // namespace tape::inspect
