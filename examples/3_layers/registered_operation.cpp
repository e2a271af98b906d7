// An operation of one's own as a type, a layer that uses it, and one call that checks all that the program registered.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// y = x / (scale + |x|) and the sign of x, which has no gradient; dx = dy scale / (scale + |x|)^2.
struct Softsign {
  static constexpr const char* name = "softsign";
  double scale = 1;

  Tensors forward(ForwardContext& c) const {
    const Tensor x = c.input(0), room = scale + abs(x);
    c.save({x});  // what the gradient function is given: x keeps its history, so it can be differentiated again
    return {x / room, gt(x, 0.0)};
  }
  Tensors backward(const BackwardContext& c) const { return {c.grad() * scale / square(scale + abs(c.saved(0)))}; }

  // May be left out: what pictures and reports show, and what is checked.
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

  // As much of a large layer as half a second allows, as JSON.
  nn::Linear large(300, 300);
  const GradcheckReport part = gradcheck(large, {sample_normal({4, 300})}, {.max_seconds = 0.5});
  std::cout << "\nright as far as checked: " << (part.ok() ? "yes" : "no")
            << ", all of it: " << (part.share() < 1 ? "no" : "yes") << "\n"
            << to_json(part).substr(0, 14) << " ...\n";
  return report.ok() && part.ok() ? 0 : 1;
}
