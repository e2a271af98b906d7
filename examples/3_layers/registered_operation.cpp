// A custom operation as a type, a layer that uses it, and one call that checks everything the program registered.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// Returns y = x / (scale + |x|), with dx = dy scale / (scale + |x|)^2, and whether x > 0, which has no gradient.
struct Softsign {
  static constexpr const char* name = "softsign";
  double scale = 1;

  Tensors forward(ForwardContext& c) const {
    const Tensor x = c.input(0);
    c.save({x});  // for backward(); x keeps its history, which second derivatives need
    return {x / (scale + abs(x)), gt(x, 0.0)};
  }
  Tensors backward(const BackwardContext& c) const { return {c.grad() * scale / square(scale + abs(c.saved(0)))}; }

  // Optional: the attributes and formulas shown in graphs and reports, and the inputs that the check uses.
  std::vector<AttributeRef> attributes() const { return {{"scale", scale}}; }
  static OpFormula formula() {
    return {.forward = "y{y} = x / ({scale} + |x|)", .backward = {"dx = dy {scale} / ({scale} + |x|)²"}};
  }
  static std::vector<OpSample> samples() {
    return {{"two rows", {sample_normal({2, 3})}, [](const Tensors& in) { return custom(Softsign{2}, in)[0]; }}};
  }
};

struct Squash : nn::Layer<Squash> {
  nn::Parameter weight{this, "weight", ones({3})};
  Tensor forward(const Tensor& x) { return custom(Softsign{}, {x * weight})[0]; }
};
const nn::CustomCheck squash_check("Squash", "a batch", [](const nn::Checker& check) {
  Squash layer;
  return check(layer, {sample_normal({4, 3})});
});

int main() {
  const Tensor x = sample_normal({2}).requires_grad_();
  const Formula formula = formula_of(custom(Softsign{.scale = 2}, {x})[0], {x});
  std::cout << formula.forward << "\n" << formula.backward[0] << "\n\n";

  const RegisteredReport report = gradcheck_all_registered();
  std::cout << report << "\n";

  // Checks as much of a large layer as half a second allows. Reports can also be written as JSON.
  nn::Linear large(300, 300);
  const GradcheckReport part = gradcheck(large, {sample_normal({4, 300})}, {.max_seconds = 0.5});
  std::cout << "\ngradients checked are right: " << (part.ok() ? "yes" : "no")
            << "; all were checked: " << (part.share() < 1 ? "no" : "yes") << "\n"
            << to_json(part).substr(0, 14) << " ...\n";
  return report.ok() && part.ok() ? 0 : 1;
}
