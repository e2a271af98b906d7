// Six mistakes in hand-written gradients of operations inside a Transformer, each of which the check names.

#include <gmock/gmock.h>

#include "autograd/custom.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "tests/models/checked_transformer.h"

// Outside the library's namespace, like a user's code.
namespace somebody {

using namespace tape;
using testing::HasSubstr;

// Lines of the last call to an operation below. For a call that spans lines, a compiler may report any of them.
int first_line = 0, last_line = 0;

Tensor called(int first, const Tensor& y, int last) {
  first_line = first, last_line = last;
  return y;
}

Tensor my_swish(const Tensor& x) {  // wrong factor
  const int first = __LINE__ + 1;
  const Tensor y = custom(
      "my_swish", {x}, [](const Tensors& in) { return in[0] * sigmoid(in[0]); },
      [](const BackwardContext& c) -> Tensors {
        const Tensor s = sigmoid(c.saved(0));
        return {1.03 * c.grad() * (s + c.saved(1) * (1 - s))};
      });
  return called(first, y, __LINE__ - 1);
}

Tensor my_cosine(const Tensor& x) {  // wrong sign
  const int first = __LINE__ + 1;
  const Tensor y = custom(
      "my_cosine", {x}, [](const Tensors& in) { return cos(in[0]); },
      [](const BackwardContext& c) -> Tensors { return {c.grad() * sin(c.saved(0))}; });
  return called(first, y, __LINE__ - 1);
}

Tensor my_softmax(const Tensor& x) {  // a term is missing: the sum over the row
  const int first = __LINE__ + 1;
  const Tensor y = custom(
      "my_softmax", {x}, [](const Tensors& in) { return softmax(in[0], -1); },
      [](const BackwardContext& c) -> Tensors { return {c.grad() * c.saved(1)}; });
  return called(first, y, __LINE__ - 1);
}

Tensor my_product(const Tensor& x, const Tensor& weight) {  // the gradient of the weight is transposed
  const int first = __LINE__ + 1;
  const Tensor y = custom(
      "my_product", {x, weight}, [](const Tensors& in) { return matmul(in[0], in[1], {.transpose_b = true}); },
      [](const BackwardContext& c) -> Tensors {
        const int64_t width = c.saved(0).size(-1);
        const Tensor rows = reshape(c.saved(0), {-1, width}), gradients = reshape(c.grad(), {-1, c.grad().size(-1)});
        return {matmul(c.grad(), c.saved(1)), matmul(rows, gradients, {.transpose_a = true})};
      });
  return called(first, y, __LINE__ - 1);
}

Tensor my_bias(const Tensor& x, const Tensor& bias) {  // not summed over the batch
  const int first = __LINE__ + 1;
  const Tensor y = custom(
      "my_bias", {x, bias}, [](const Tensors& in) { return in[0] + in[1]; },
      [](const BackwardContext& c) -> Tensors {
        return {c.grad(), sum(select(c.grad(), 0, 0), 0)};
      });
  return called(first, y, __LINE__ - 1);
}

Tensor my_sigmoid(const Tensor& x) {  // takes the saved input for the output
  const int first = __LINE__ + 1;
  const Tensor y = custom(
      "my_sigmoid", {x}, [](const Tensors& in) { return sigmoid(in[0]); },
      [](const BackwardContext& c) -> Tensors { return {c.grad() * c.saved(0) * (1 - c.saved(0))}; });
  return called(first, y, __LINE__ - 1);
}

struct Mistake {
  std::string operation, module, input, explanation;
  nn::ForwardHook hook;  // puts the operation behind that module
};

const nn::Linear& as_linear(nn::Module& module) { return dynamic_cast<nn::Linear&>(module); }

std::vector<Mistake> mistakes() {
  return {
      {"my_swish", "encoder.layers.0.feed_forward.activation", "input 0",
       "element is 1.03 times the numeric value: a constant factor is wrong.",
       [](nn::Module&, const Tensors&, const Tensor& y) { return my_swish(y); }},
      {"my_cosine", "decoder.layers.1.feed_forward.activation", "input 0",
       "element has the opposite sign: a minus is missing, or one too many.",
       [](nn::Module&, const Tensors&, const Tensor& y) { return my_cosine(y); }},
      {"my_softmax", "decoder.layers.0.norm2", "input 0", "No simple pattern: analytic / numeric runs from",
       [](nn::Module&, const Tensors&, const Tensor& y) { return my_softmax(y); }},
      {"my_product", "encoder.layers.1.feed_forward.linear2", "input 1",
       "The gradient is right once its last two axes are exchanged: it is transposed.",
       [](nn::Module& module, const Tensors& in, const Tensor& y) {
         return y + my_product(in[0], as_linear(module).weight);
       }},
      {"my_bias", "decoder.layers.0.cross_attention.query", "input 1",
       "It is only the part that comes through position 0 of axis 0 of the output [2, 2, 4]: a sum over that axis "
       "(the "
       "batch) is missing.",
       [](nn::Module& module, const Tensors&, const Tensor& y) { return my_bias(y, as_linear(module).bias); }},
      {"my_sigmoid", "decoder.layers.1.self_attention", "input 0", "No simple pattern: analytic / numeric runs from",
       [](nn::Module&, const Tensors&, const Tensor& y) { return my_sigmoid(y); }},
  };
}

class TransformerBlame : public testing::TestWithParam<size_t> {};

TEST_P(TransformerBlame, NamesTheMistake) {
  const Mistake mistake = mistakes()[GetParam()];
  manual_seed(3);
  models::Transformer model(models::checked_config(nn::ActivationKind::gelu));

  bool found = false;
  for (const auto& [path, module] : model.named_modules()) {
    if (path != mistake.module) continue;
    module->register_forward_hook(mistake.hook);
    found = true;
  }
  ASSERT_TRUE(found) << mistake.module;
  const GradcheckReport report = nn::gradcheck(model, models::checked_ids(), models::checked_options(model));
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  const GuiltyOperation& guilty = report.guilty[0];
  EXPECT_EQ(guilty.operation, mistake.operation);
  EXPECT_EQ(guilty.module_path, mistake.module);
  EXPECT_EQ(guilty.gradient.name, mistake.input);
  EXPECT_THAT(guilty.gradient.explanation, HasSubstr(mistake.explanation));
  EXPECT_GT(guilty.gradient.max_error, 0.01);
#ifdef TAPE_HAVE_BACKTRACE
  const size_t colon = guilty.source.rfind(':');
  EXPECT_EQ(guilty.source.substr(0, colon), __FILE__);
  const int line = std::stoi(guilty.source.substr(colon + 1));
  EXPECT_GE(line, first_line);
  EXPECT_LE(line, last_line);
  EXPECT_THAT(to_string(report),
              HasSubstr("guilty: " + mistake.operation + " (" + mistake.module +
                        "), called at blame.cpp:" + std::to_string(line) + ": gradient of " + mistake.input + " ["));
#else
  EXPECT_THAT(guilty.source, HasSubstr("somebody::"));
#endif
}

INSTANTIATE_TEST_SUITE_P(Mistakes, TransformerBlame, testing::Range(size_t{0}, size_t{6}),
                         [](const auto& place) { return mistakes()[place.param].operation; });

/// The same model passes without a mistake, so the failures above are due to the mistakes.
TEST(CorrectTransformer, HasNothingToBlame) {
  manual_seed(3);
  models::Transformer model(models::checked_config(nn::ActivationKind::gelu));
  model.encoder->layers[0]->feed_forward.as<nn::FeedForward>()->activation->register_forward_hook(
      [](nn::Module&, const Tensors&, const Tensor& y) { return y * sigmoid(y); });
  const GradcheckReport report = nn::gradcheck(model, models::checked_ids(), models::checked_options(model));
  EXPECT_TRUE(report.ok()) << report;
  EXPECT_TRUE(report.guilty.empty());
}

}  // namespace somebody
