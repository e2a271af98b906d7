#include "autograd/gradcheck_checker.h"

#include <numeric>

#include "autograd/create.h"
#include "autograd/tape.h"

namespace tape::detail {
namespace {

constexpr double kRounding = 0x1p-53;

/// One element of a tensor that is moved and put back.
class Perturbed {
 public:
  Perturbed(const Tensor& tensor, int64_t element) : tensor_(tensor), element_(element), value_(place()) {}
  ~Perturbed() { place() = value_; }
  Perturbed(const Perturbed&) = delete;
  Perturbed& operator=(const Perturbed&) = delete;
  double value() const { return value_; }
  void move_to(double value) { place() = value; }

 private:
  double& place() { return tensor_.mutable_data<double>()[element_]; }
  Tensor tensor_;
  int64_t element_;
  double value_;
};

}  // namespace

Tensors Checker::evaluate(bool record) {
  streams_.reset();
  const EnableGrad mode(record);
  Tensors outputs = f_();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) raise(ErrorKind::graph, "gradcheck: the function returned an undefined tensor");
    if (outputs[i].dtype() != f64)
      raise(ErrorKind::dtype, "gradcheck: the output is {}, it must be f64", to_string(outputs[i].dtype()));
    if (!outputs_.empty() && !(outputs[i].shape() == outputs_[i].shape()))
      raise(ErrorKind::shape, "gradcheck: the function returned {} first and {} now", to_string(outputs_[i].shape()),
            to_string(outputs[i].shape()));
  }
  return outputs;
}

void Checker::make_head() {
  outputs_ = evaluate(true);
  Generator stream(options_.seed);
  for (const Tensor& output : outputs_) head_.push_back(randn(output.shape(), f64, stream));
  const Tensors again = evaluate(false);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const double* first = outputs_[i].data<double>();
    const double* second = again[i].data<double>();
    for (int64_t j = 0; j < outputs_[i].numel(); ++j)
      if (first[j] != second[j] && !(std::isnan(first[j]) && std::isnan(second[j])))
        raise(ErrorKind::numeric, "gradcheck: the function gives {} and then {} for the same inputs", first[j],
              second[j]);
  }
}

Tensors Checker::analytic_gradients() {
  Tensors reached, seeds, leaves;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].requires_grad()) continue;
    reached.push_back(outputs_[i]);
    seeds.push_back(head_[i]);
  }
  for (const NamedTensor& variable : variables_) leaves.push_back(variable.tensor);
  Tensors gradients(leaves.size());
  if (!reached.empty() && !leaves.empty()) {
    streams_.reset();
    gradients = grad(reached, leaves, {.gradients = seeds, .allow_unused = true});
  }
  for (Tensor& output : outputs_) output = output.detach();
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = zeros_like(leaves[i]);
  return gradients;
}

std::vector<int64_t> Checker::choose_elements(int64_t numel) const {
  Generator stream(options_.seed);
  const bool sample = options_.max_elements > 0 && numel > options_.max_elements;
  std::vector<int64_t> elements = (sample ? randperm(numel, stream) : arange(numel)).to_vector<int64_t>();
  if (sample) elements.resize(static_cast<size_t>(options_.max_elements));
  std::sort(elements.begin(), elements.end());
  return elements;
}

std::vector<double> Checker::differences(const Tensor& variable, int64_t element, double step) {
  Perturbed x(variable, element);
  // The step that is really taken: x + h and x - h are rounded.
  const double up = x.value() + step, down = x.value() - step;
  x.move_to(up);
  const Tensors above = evaluate(false);
  // The function may hand out a view of its input: what it gave must not follow the next move.
  Tensors kept;
  for (const Tensor& output : above) kept.push_back(output.shares_storage(variable) ? output.detach().clone() : output);
  x.move_to(down);
  const Tensors below = evaluate(false);
  std::vector<double> result;
  for (size_t i = 0; i < kept.size(); ++i) {
    const double *a = kept[i].data<double>(), *b = below[i].data<double>(), *w = head_[i].data<double>();
    // Elements are subtracted before they are added up: what did not change cancels exactly, infinity too.
    for (int64_t j = 0; j < kept[i].numel(); ++j)
      result.push_back(a[j] == b[j] ? 0 : w[j] * (a[j] - b[j]) / (up - down));
  }
  return result;
}

Difference Checker::difference(const Tensor& variable, int64_t element, double step) {
  const std::vector<double> parts = differences(variable, element, step);
  double changed = 0, all = 0;
  size_t at = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    for (int64_t j = 0; j < outputs_[i].numel(); ++j, ++at) {
      const double size = std::pow(head_[i].data<double>()[j] * outputs_[i].data<double>()[j], 2);
      if (!std::isfinite(size)) continue;
      all += size;
      if (parts[at] != 0) changed += size;
    }
  }
  // Each output is taken to be off by 16 roundings, independent of each other; the tape's gradient by 64.
  const double noise = 16 * kRounding * std::sqrt(changed) / step + 64 * kRounding * std::sqrt(all);
  return {std::accumulate(parts.begin(), parts.end(), 0.0), noise};
}

/// The difference with the plain step; where that misses the tape's gradient by little, rounding may be the cause, so
/// larger steps are tried with a formula of fourth order.
Difference Checker::nearest(const Tensor& variable, int64_t element, double analytic) {
  const double h = step(variable, element);
  Difference best = difference(variable, element, h);
  const auto error = [&](double value) { return std::abs(value - analytic); };
  const double size = std::max(std::abs(analytic), std::abs(best.value));
  if (!(error(best.value) > options_.rtol * size) || !(error(best.value) < 1e-3 * size)) return best;
  for (double larger : {30 * h, 1000 * h}) {
    const double near = difference(variable, element, larger).value;
    const double far = difference(variable, element, 2 * larger).value;
    const double value = (4 * near - far) / 3;
    if (error(value) < error(best.value)) best.value = value;
  }
  return best;
}

ComparedGradient Checker::compare(const NamedTensor& variable, const Tensor& gradient) {
  ComparedGradient result{.name = variable.name,
                          .shape = variable.tensor.shape(),
                          .elements = choose_elements(variable.tensor.numel()),
                          .analytic = gradient.to_vector<double>(),
                          .numeric = {},
                          .slack = {},
                          .wrong = {}};
  double largest = 0;
  for (int64_t element : result.elements) {
    const Difference found = nearest(variable.tensor, element, result.analytic[static_cast<size_t>(element)]);
    result.numeric.push_back(found.value);
    result.slack.push_back(found.noise);
    if (std::isfinite(found.value)) largest = std::max(largest, std::abs(found.value));
  }
  for (size_t i = 0; i < result.elements.size(); ++i) {
    result.slack[i] += options_.atol * largest;
    const double a = result.analytic_of(i), n = result.numeric[i];
    const double allowed = options_.rtol * std::max(std::abs(a), std::abs(n)) + result.slack[i];
    if (!(std::isfinite(a) && std::isfinite(n) && std::abs(a - n) <= allowed)) result.wrong.push_back(i);
  }
  return result;
}

GradcheckResult Checker::judge(size_t which, const std::vector<ComparedGradient>& all) {
  const ComparedGradient& variable = all[which];
  GradcheckResult result;
  result.name = variable.name;
  result.shape = variable.shape;
  result.checked = std::ssize(variable.elements);
  result.wrong = std::ssize(variable.wrong);
  for (size_t i = 0; i < variable.elements.size(); ++i) {
    const double a = variable.analytic_of(i), n = variable.numeric[i];
    // The error of a right element near zero is rounding: it is measured against the size that rounding allows for.
    const bool right = !std::binary_search(variable.wrong.begin(), variable.wrong.end(), i);
    const double floor = right ? variable.slack[i] / options_.rtol : 0;
    double error = a == n ? 0 : std::abs(a - n) / std::max({std::abs(a), std::abs(n), floor});
    if (!std::isfinite(error)) error = INFINITY;
    if (error <= result.max_error) continue;
    result.max_error = error;
    result.worst = variable.index(i);
    result.analytic = a;
    result.numeric = n;
  }
  const auto is_zero = [](double value) { return value == 0; };
  result.all_zero = !variable.analytic.empty() && !may_be_zero(variable.name) &&
                    std::all_of(variable.analytic.begin(), variable.analytic.end(), is_zero);
  if (result.ok()) return result;
  const auto contributions = [&](size_t checked) {
    const Tensor& tensor = variables_[which].tensor;
    const int64_t element = variable.elements[checked];
    return differences(tensor, element, step(tensor, element));
  };
  result.explanation =
      detail::explain_wrong(variable, all, outputs_.size() == 1 ? outputs_[0].shape() : Shape{}, contributions);
  return result;
}

GradcheckReport Checker::run() {
  make_head();
  const Tensors gradients = analytic_gradients();
  std::vector<ComparedGradient> compared;
  for (size_t i = 0; i < variables_.size(); ++i) compared.push_back(compare(variables_[i], gradients[i]));
  GradcheckReport report;
  for (size_t i = 0; i < compared.size(); ++i) report.variables.push_back(judge(i, compared));
  return report;
}

}  // namespace tape::detail
