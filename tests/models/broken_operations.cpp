// Six mistakes in gradients of the library's own operations, inside a Transformer. The check names each operation, its
// module and the line of the call. tests/models/blame.cpp does the same for a user's operations.

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/observer.h"
#include "autograd/tape/op.h"
#include "tests/models/checked_transformer.h"

// Outside the library's namespace, like a user's code.
namespace somebody_else {

using namespace tape;
using testing::HasSubstr;
using testing::StartsWith;

/// Replaces an operation's gradients.
using Spoil = std::function<Tensors(const BackwardContext& context, const BackwardFunction& right)>;

/// Modifies the correct gradients.
Spoil changed(std::function<void(const BackwardContext& context, Tensors& gradients)> change) {
  return [change](const BackwardContext& c, const BackwardFunction& right) {
    Tensors gradients = right(c);
    change(c, gradients);
    return gradients;
  };
}

struct Mistake {
  std::string name, operation, module, input, explanation;
  bool fused;  // whether a Composed scope records it as steps
  Spoil spoil;
};

/// Breaks the gradient of the first operation of a given name that is recorded in a module.
class Spoiler : public Observer {
 public:
  explicit Spoiler(const Mistake& mistake) : mistake_(mistake) {}

  void on_node(Node& node, TensorList) override {
    if (spoiled_ || node.name() != mistake_.operation || ModuleScope::path() != mistake_.module) return;
    spoiled_ = true;
    node.backward = [right = node.backward, spoil = mistake_.spoil](const BackwardContext& c) {
      return spoil(c, right);
    };
  }

 private:
  const Mistake& mistake_;
  bool spoiled_ = false;
};

std::vector<Mistake> mistakes() {
  return {
      {"WrongFactor", "add", "model.encoder.layers.0", "input 1",
       "element is 1.02 times the numeric value: a constant factor is wrong.", false,
       changed([](const BackwardContext&, Tensors& g) { g[1] = g[1] * 1.02; })},
      {"WrongSign", "scaled_dot_product_attention", "model.decoder.layers.1.cross_attention", "input 1",
       "has the opposite sign: a minus is missing, or one too many.", true,
       changed([](const BackwardContext&, Tensors& g) { g[1] = -g[1]; })},
      {"Transposed", "linear", "model.encoder.layers.1.feed_forward.linear2", "input 1",
       "The gradient is right once its last two axes are exchanged: it is transposed.", true,
       changed([](const BackwardContext&, Tensors& g) { g[1] = transpose(g[1], 0, 1); })},
      {"MissingBatchSum", "layer_norm", "model.decoder.layers.1.norm3", "input 2",
       "It is only the part that comes through position 0 of axis 0 of the output [2, 2, 4]: a sum over that axis "
       "(the batch) is missing.",
       true, changed([](const BackwardContext& c, Tensors& g) { g[2] = sum(select(c.grad(), 0, 0), 0); })},
      {"DroppedTerm", "embedding", "model.src_embedding", "input 0", "", false,
       // Only the last row of each id contributes.
       changed([](const BackwardContext& c, Tensors& g) {
         const std::vector<int64_t> ids = c.saved(0).to_vector<int64_t>();
         const Tensor rows = reshape(c.grad(), {std::ssize(ids), -1});
         g[0] = zeros_like(g[0]);
         for (size_t i = 0; i < ids.size(); ++i)
           if (ids[i] != 0) select(g[0], 0, ids[i]).copy_(select(rows, 0, static_cast<int64_t>(i)));
       })},
      {"WrongSavedValue", "tanh", "model.decoder.layers.0.feed_forward.activation", "input 0",
       "No simple pattern: analytic / numeric runs from", false,
       // 1 - x^2 instead of 1 - y^2.
       [](const BackwardContext& c, const BackwardFunction&) -> Tensors {
         const Tensor y = c.saved(0), x = log((1 + y) / (1 - y)) * 0.5;
         return {c.grad() * (1 - square(x))};
       }},
  };
}

int line = 0;  // where the model is called

/// A Transformer with one broken gradient.
struct Broken : nn::Module {
  nn::Child<models::Transformer> model;
  const Mistake& mistake;

  explicit Broken(const Mistake& broken)
      : model(this, "model", models::checked_config(nn::ActivationKind::tanh)), mistake(broken) {}

  Tensor forward(const Tensor& src, const Tensor& tgt) {
    const Spoiler spoiler(mistake);
    line = __LINE__ + 1;
    return model(src, tgt);
  }
};

class BrokenOperations : public testing::TestWithParam<size_t> {};

TEST_P(BrokenOperations, AreNamed) {
  const Mistake mistake = mistakes()[GetParam()];
  manual_seed(3);
  Broken model(mistake);
  const GradcheckReport report = nn::gradcheck(model, models::checked_ids(), models::checked_options(model));
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.guilty.size(), 1u) << report;
  const GuiltyOperation& guilty = report.guilty[0];
  EXPECT_EQ(guilty.operation, mistake.operation);
  if (guilty.operation == "layer_norm") {
    EXPECT_EQ(guilty.attributes, "eps=1e-05");
  }
  EXPECT_EQ(guilty.module_path, mistake.module);
  EXPECT_EQ(guilty.gradient.name, mistake.input);
  EXPECT_THAT(guilty.gradient.explanation, HasSubstr(mistake.explanation));
  EXPECT_GT(guilty.gradient.max_error, 0.01);
  EXPECT_THAT(report.blame, mistake.fused ? StartsWith("In a Composed scope") : testing::Matcher<std::string>(""));
#ifdef TAPE_HAVE_BACKTRACE
  EXPECT_EQ(guilty.source, std::string(__FILE__) + ":" + std::to_string(line));
#else
  EXPECT_THAT(guilty.source, HasSubstr("somebody_else::Broken"));
#endif
}

INSTANTIATE_TEST_SUITE_P(Mistakes, BrokenOperations, testing::Range(size_t{0}, size_t{6}),
                         [](const auto& place) { return mistakes()[place.param].name; });

TEST(UnbrokenOperations, PassTheirChecks) {
  const Mistake none{"None", "layer_norm", "nowhere", "", "", false, {}};
  manual_seed(3);
  Broken model(none);
  const GradcheckReport report = nn::gradcheck(model, models::checked_ids(), models::checked_options(model));
  EXPECT_TRUE(report.ok()) << report;
}

}  // namespace somebody_else
