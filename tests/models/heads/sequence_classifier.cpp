#include "models/heads/sequence_classifier.h"

#include "autograd/create.h"
#include "autograd/random.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

SequenceClassifierConfig tiny(nn::Pooling pooling) {
  return {
      .encoder =
          BertConfig{.vocab = 11, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12, .max_length = 6, .init_std = 0.3},
      .num_labels = 3,
      .pooling = pooling};
}

TEST(SequenceClassifier, PoolsTheFirstPositionOrTheMean) {
  manual_seed(2);
  const Tensor ids = tensor({{1, 2, 3, 0}, {4, 5, 0, 0}}, i64);
  SequenceClassifier first(tiny(nn::Pooling::first)), mean(tiny(nn::Pooling::mean));
  first.eval(), mean.eval();
  const Mask mask = Mask::padding(ids, 0);
  const Tensor hidden = first.base(ids, mask), other = mean.base(ids, mask);
  EXPECT_TRUE(tensors_equal(first(ids), first.head((*first.base->pooler)(hidden))));
  EXPECT_TRUE(tensors_equal(mean(ids), mean.head(nn::mean_pool(other, mask))));
  EXPECT_FALSE(mean.base->pooler);
  EXPECT_EQ(to_string(mean(ids).shape()), "[2, 3]");
}

TEST(SequenceClassifier, NamesTheInvalidValue) {
  SequenceClassifierConfig config = tiny(nn::Pooling::first);
  config.num_labels = 0;
  EXPECT_TAPE_ERROR(SequenceClassifier(config), ErrorKind::config,
                    "SequenceClassifier: num_labels must be at least 1, got 0");
  config.num_labels = 3;
  config.labels = {"no", "yes"};
  EXPECT_TAPE_ERROR(SequenceClassifier(config), ErrorKind::config, "SequenceClassifier: 2 names for 3 labels");
}

}  // namespace
}  // namespace tape::models
