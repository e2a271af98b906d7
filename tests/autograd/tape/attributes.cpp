#include "autograd/tape/attributes.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/diagnose/profile.h"
#include "autograd/mask.h"
#include "autograd/ops.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

Tensor sample_normal_leaf() {
  Generator stream(1);
  return randn({2, 3}, f64, stream).requires_grad_();
}

std::string recorded(const Tensor& y) { return to_string(y.impl().node->attributes); }

TEST(Attributes, KeepTheTypeAndOrderOfArguments) {
  const std::vector<int64_t> axes{2, 0};
  const Attributes attributes({{"flag", true},
                               {"off", false},
                               {"k", 3},
                               {"eps", 1e-5},
                               {"axes", axes},
                               {"shape", Shape{2, 3}},
                               {"kind", "mean"}});
  EXPECT_EQ(attributes.size(), 7u);
  EXPECT_EQ(attributes.get<bool>("flag"), true);
  EXPECT_EQ(attributes.get<int64_t>("k"), 3);
  EXPECT_EQ(attributes.get<double>("eps"), 1e-5);
  EXPECT_EQ(attributes.get<std::vector<int64_t>>("axes"), axes);
  EXPECT_EQ(attributes.get<std::string>("kind"), "mean");
  EXPECT_EQ(attributes.get<double>("k"), std::nullopt) << "has another type";
  EXPECT_EQ(attributes.get<int64_t>("none"), std::nullopt);
  EXPECT_EQ(attributes.find("none"), nullptr);
  EXPECT_EQ(to_string(attributes), "flag=true, k=3, eps=1e-05, axes=[2, 0], shape=[2, 3], kind=mean");
  EXPECT_EQ(to_string(Attributes()), "");
}

TEST(Attributes, DoNotStoreAbsentOptionals) {
  const std::optional<int64_t> none, some = 0;
  EXPECT_EQ(to_string(Attributes({{"a", none}, {"b", some}})), "b=0");
}

TEST(Attributes, HoldTheArgumentsOfEachOperation) {
  const Tensor x = sample_normal_leaf();
  EXPECT_EQ(recorded(x * 2.0), "scale=2, shift=0");
  EXPECT_EQ(recorded(pow(x, -0.5)), "exponent=-0.5");
  EXPECT_EQ(recorded(cast(x, f32)), "dtype=f32");
  EXPECT_EQ(recorded(clamp(x, -1, 2)), "low=-1, high=2");
  EXPECT_EQ(recorded(seeded_dropout(x, 0.1, 1, 2)), "p=0.1");
  EXPECT_EQ(recorded(matmul(x, x, {.transpose_b = true})), "transpose_b=true");
  EXPECT_EQ(recorded(sum(x, -1, Dims::keep)), "axes=[1], keepdim=true");
  EXPECT_EQ(recorded(max(x)), "axes=[0, 1]");
  EXPECT_EQ(recorded(logsumexp(x, 0)), "axes=[0]");
  EXPECT_EQ(recorded(softmax(x, -1)), "axis=1");
  EXPECT_EQ(recorded(log_softmax(x, 1)), "axis=1");
  EXPECT_EQ(recorded(permute(x, {1, 0})), "axes=[1, 0]");
  EXPECT_EQ(recorded(slice(x, -1, {.start = 1})), "axis=1, start=1, end=3");
  EXPECT_EQ(recorded(slice(x, -1, {.step = 2})), "axis=1, start=0, end=3, step=2");
  EXPECT_EQ(recorded(cat({x, x}, -2)), "axis=0");
  EXPECT_EQ(recorded(split(x, {1, 2}, 1)[1]), "axis=1, sizes=[1, 2]");
  EXPECT_EQ(recorded(topk(x, 2).values), "k=2, axis=1, largest=true");
  EXPECT_EQ(recorded(sort(x, 0).values), "axis=0");
  EXPECT_EQ(recorded(cumsum(x, 0, {.reverse = true})), "axis=0, reverse=true");
  EXPECT_EQ(recorded(pad(x, {{1, 1}}, 3)), "value=3");
  EXPECT_EQ(recorded(flip(x, -1)), "axes=[1]");
  EXPECT_EQ(recorded(tril(x, -1)), "diagonal=-1");
  EXPECT_EQ(recorded(layer_norm(x, {}, {}, 1e-6)), "eps=1e-06");
  EXPECT_EQ(recorded(rms_norm(x)), "eps=1e-06");
  const Tensor ids = tensor({1, 0}, i64);
  EXPECT_EQ(recorded(embedding(x, ids)), "");
  EXPECT_EQ(recorded(embedding(x, ids, {.padding_index = 0})), "padding_id=0");
  EXPECT_EQ(recorded(index_select(x, 0, ids)), "axis=0");
  EXPECT_EQ(recorded(gather(x, 0, tensor({{1, 0, 1}}, i64))), "axis=0");
  EXPECT_EQ(recorded(cross_entropy(x, ids, {.ignore_index = -1, .label_smoothing = 0.1, .reduction = Reduction::none})),
            "ignore_index=-1, label_smoothing=0.1");
  EXPECT_EQ(recorded(exp(x)), "");
}

TEST(Attributes, DescribeHeadsScaleMaskAndDropoutOfAttention) {
  const Tensor q = randn({2, 4, 6}, f64).requires_grad_();
  EXPECT_EQ(recorded(multi_head_attention(q, q, q, 3, {.mask = Mask::causal(1), .scale = 0.5})),
            "heads=3, scale=0.5, causal_offset=1, dropout_p=0");
  EXPECT_EQ(recorded(scaled_dot_product_attention(q, q, q, {.dropout = 0.25, .scale = 0.5})),
            "heads=1, scale=0.5, dropout_p=0.25");
}

TEST(Attributes, RemainAfterABackwardFreesTheTape) {
  const Tensor y = sum(sample_normal_leaf());
  y.backward();
  EXPECT_EQ(recorded(y), "axes=[0, 1]");
}

}  // namespace
}  // namespace tape
