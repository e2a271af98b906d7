// Explanations of tensors, drawings of tapes, and the explorer.
#include <fmt/format.h>

#include "exceptions.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "autograd/tape/graph.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/explorer/shared_data.h"
#include "inspect/web_page.h"

namespace tape::python {
namespace {

using nb::arg;
using Names = std::vector<NamedTensor>;

/// "file:line" of the innermost function of Python outside this package, or "".
std::string python_caller() {
  const nb::gil_scoped_acquire gil;
  static const std::string package = [] {
    const nb::object file = nb::module_::import_("tapeformer").attr("__file__");
    return std::filesystem::path(nb::cast<std::string>(file)).parent_path().string() + "/";
  }();
  const char* const installed = "/site-packages/torch/";
  for (nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame())); frame && !frame.is_none();
       frame = frame.attr("f_back")) {
    const auto file = nb::cast<std::string>(frame.attr("f_code").attr("co_filename"));
    if (file.starts_with(package) || file.find(installed) != std::string::npos) continue;
    return fmt::format("{}:{}", file, nb::cast<int>(frame.attr("f_lineno")));
  }
  return "";
}

/// Calls a function of Python with a description of each operation that this thread records while in scope.
class FormulaRecorder : public Observer {
 public:
  explicit FormulaRecorder(nb::callable record) : record_(std::move(record)) {}

 private:
  void on_record(const Op&, TensorList inputs, TensorList, AttributeList) override {
    inputs_.assign(inputs.begin(), inputs.end());
  }
  void on_node(Node& node, TensorList outputs) override {
    const HideObservers hidden;
    const Formula formula = formula_of(node, inputs_);
    const std::string path = ModuleScope::path();
    const nb::gil_scoped_acquire gil;
    nb::dict step;
    step["operation"] = node.name();
    step["attributes"] = to_string(node.attributes);
    step["module_path"] = path;
    step["source"] = python_caller();
    step["forward"] = formula.forward;
    step["backward"] = formula.backward;
    step["outputs"] = Tensors(outputs.begin(), outputs.end());
    record_(step);
  }

  const nb::callable record_;
  Tensors inputs_;
};

void bind_tape(nb::module_& m) {
  m.def(
      "_explain",
      [](const Tensor& tensor, const std::optional<Tensor>& loss, const Names& names, bool source) {
        return explain(tensor, {.loss = loss.value_or(Tensor()), .names = names, .source = source});
      },
      arg("tensor"), arg("loss").none(), arg("names"), arg("source"), release);
  m.def(
      "_to_dot",
      [](const Tensor& loss, const Names& names, bool values, bool gradients) {
        return to_dot(loss, {.names = names, .values = values, .gradients = gradients});
      },
      arg("loss"), arg("names"), arg("values"), arg("gradients"), release);
  m.def(
      "_record_formulas",
      [](const nb::callable& run, const nb::callable& record) {
        const FormulaRecorder recorder(record);
        return nb::object(run());
      },
      arg("run"), arg("record"));
}

void bind_saved_tensors(nb::module_& m) {
  using E = SavedTensorsEntry;
  structure<E>(m, "SavedTensorsEntry", "Values that the nodes of one operation in one module save.", "module_path",
               &E::module_path, "'' outside modules, or if no trace() was open.", "operation", &E::operation,
               "Name of the operation; '' in by_module().", "values", &E::values, "Number of storages.", "bytes",
               &E::bytes, "Of these storages.");
  using C = CheckpointSaving;
  structure<C>(m, "CheckpointSaving", "Bytes that checkpoint() around a module's calls would free.", "module_path",
               &C::module_path, "Path of the module.", "bytes", &C::bytes,
               "Freed, less those of inputs that would be saved instead.");
  using R = SavedTensorsReport;
  nb::class_<R>(m, "SavedTensorsReport",
                "The values that a tape saves for its backward pass. Each storage counts once, for the first node that "
                "saved it.")
      .def_ro("entries", &R::entries, "One per module and operation, largest first.")
      .def_ro("checkpoints", &R::checkpoints, "Modules where a checkpoint frees memory, largest saving first.")
      .def_ro("values", &R::values, "Number of storages in all entries.")
      .def_ro("bytes", &R::bytes, "Of all entries.")
      .def_ro("parameter_bytes", &R::parameter_bytes, "Of leaves that the tape references, which exist anyway.")
      .def("by_operation", &R::by_operation, "The entries summed per operation, largest first.")
      .def("by_module", &R::by_module, "The entries summed per module, largest first.")
      .def("__repr__", [](const R& self) { return to_string(self); });
  m.def("_saved_tensors", &saved_tensors, arg("loss"), release);
}

// --- the explorer ---

/// Copies of what a page is made of, before it is written.
struct Page {
  std::string html;
  std::vector<std::pair<std::string, double>> outputs;
};

Page page_of(const inspect::Study& study, const inspect::PageOptions& options) {
  const nlohmann::ordered_json data = inspect::explorer_data(study, options);
  Page page{.html = inspect::web_page("explorer.html", inspect::share_repeated_data(data)), .outputs = {}};
  for (const auto& output : data["outputs"])
    page.outputs.emplace_back(output["name"].get<std::string>(), output["value"].get<double>());
  return page;
}

inspect::PageOptions page_options(const inspect::Study& study, const std::optional<std::string>& title, bool gradcheck,
                                  bool nudges, const std::vector<std::string>& detail) {
  inspect::PageOptions options{.title = title.value_or(""), .detail = detail};
  if (gradcheck) options.gradcheck = inspect::check_gradients(study);
  if (nudges) options.nudges.emplace();
  return options;
}

Page explore_folder(const std::string& folder, const std::optional<std::string>& text,
                    const std::optional<std::string>& text_b, const std::optional<std::string>& image,
                    const std::optional<std::string>& label, const std::vector<std::string>& logits,
                    const std::vector<std::string>& losses, const std::optional<std::string>& corrupted,
                    const std::vector<std::string>& beside, const std::vector<std::string>& cuts,
                    const std::vector<std::string>& patches, bool film, const std::optional<std::string>& title,
                    bool gradcheck, bool nudges, const std::vector<std::string>& detail) {
  const inspect::InspectedModel subject(
      folder, {.text = text, .image = image, .text_b = text_b, .label = label, .logits = logits, .losses = losses});
  const inspect::Study& study = subject.study();
  inspect::PageOptions options = page_options(study, title ? title : subject.title(), gradcheck, nudges, detail);
  options.runs = inspect::record_runs(
      subject, folder, {.film = film, .beside = beside, .cuts = cuts, .corrupted = corrupted, .patches = patches});
  if (corrupted) options.patching = inspect::run_activation_patching(study, subject.corrupted(*corrupted));
  options.label_smoothing = subject.label_smoothing();
  return page_of(study, options);
}

Page explore_module(nn::Module* module, const std::function<Tensor()>& loss, const Names& leaves,
                    const std::vector<std::string>& tokens, const std::optional<std::string>& title, bool gradcheck,
                    bool nudges, const std::vector<std::string>& detail) {
  const std::function<Tensor()> run = through_python(loss);
  inspect::Study study = module ? inspect::study(*module, run) : inspect::study(run, leaves);
  study.leaves = leaves;
  if (!tokens.empty()) {
    inspect::Study::Text text{.name = "text", .tokens = tokens};
    for (size_t i = 0; i < tokens.size(); ++i) text.ids.push_back(static_cast<int64_t>(i));
    study.texts.push_back(std::move(text));
  }
  return page_of(study, page_options(study, title, gradcheck, nudges, detail));
}

void bind_explorer(nb::module_& m) {
  nb::class_<Page>(m, "_Page").def_ro("html", &Page::html).def_ro("outputs", &Page::outputs);
  m.def("_explore_folder", &explore_folder, arg("folder"), arg("text").none(), arg("text_b").none(),
        arg("image").none(), arg("label").none(), arg("logits"), arg("losses"), arg("corrupted").none(), arg("beside"),
        arg("cuts"), arg("patches"), arg("film"), arg("title").none(), arg("gradcheck"), arg("nudges"), arg("detail"),
        release);
  m.def("_explore_module", &explore_module, arg("module").none(), arg("loss"), arg("leaves"), arg("tokens"),
        arg("title").none(), arg("gradcheck"), arg("nudges"), arg("detail"), release);
}

}  // namespace

void bind_inspect(nb::module_& m) {
  set_trace_caller(&python_caller);
  bind_tape(m);
  bind_saved_tensors(m);
  bind_explorer(m);
}

}  // namespace tape::python
