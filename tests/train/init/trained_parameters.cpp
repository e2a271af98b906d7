#include "train/init/trained_parameters.h"

#include <map>

#include <gtest/gtest.h>

#include "models/decoders/gpt.h"
#include "models/encoder_decoders/t5.h"
#include "models/encoder_decoders/transformer.h"
#include "tests/support/errors.h"
#include "tests/train/labeled_files.h"
#include "train/init/fine_tuning.h"

namespace tape::train {
namespace {

TEST(TrainedParameters, HaveLowerLearningRatesInLowerLayers) {
  models::SequenceClassifier model({.encoder = small_bert(), .num_labels = 2});
  freeze_layers(model, 1);
  const optim::ParameterGroups groups = parameter_groups(model, {.layer_decay = 0.5});
  std::map<std::string, double> factor;
  for (const NamedTensor& named : model.named_parameters())
    for (const optim::ParameterGroup& group : groups)
      for (const Tensor& parameter : group.parameters)
        if (parameter.data<float>() == named.tensor.data<float>()) {
          factor[named.name] = group.lr_factor;
          EXPECT_EQ(group.weight_decay.has_value(), parameter.rank() == 1) << named.name;
        }
  for (const auto& [name, value] : factor) {
    const double expected = name.starts_with("bert.encoder.layers.1.") ? 0.5 : 1;
    EXPECT_EQ(value, expected) << name;
  }
  EXPECT_FALSE(factor.contains("bert.encoder.layers.0.norm1.weight"));
  EXPECT_EQ(factor.size(), 2 * 16u + 2 + 2);
  models::SequenceClassifier all({.encoder = small_bert(), .num_labels = 2});
  EXPECT_EQ(parameter_groups(all, {.layer_decay = 0.5}).front().lr_factor, 0.125);  // embeddings of three layers
  EXPECT_EQ(parameter_groups(all).front().lr_factor, 1);
  EXPECT_TAPE_ERROR(parameter_groups(model, {.layer_decay = 0}), ErrorKind::config,
                    "layer_decay must be greater than 0 and at most 1, got 0");
  EXPECT_TAPE_ERROR(parameter_groups(model, {.layer_decay = 1.5}), ErrorKind::config,
                    "layer_decay must be greater than 0 and at most 1, got 1.5");
}

/// The learning rate factor of each parameter, by name.
std::map<std::string, double> factors(const nn::Module& model, const RateOptions& options) {
  std::map<std::string, double> all;
  for (const optim::ParameterGroup& group : parameter_groups(model, options))
    for (const Tensor& parameter : group.parameters)
      for (const NamedTensor& named : model.named_parameters())
        if (named.tensor.ref().get() == parameter.ref().get()) all[named.name] = group.lr_factor;
  EXPECT_EQ(all.size(), model.named_parameters().size());
  return all;
}

TEST(TrainedParameters, OrderADecodersLayersAfterItsEncoders) {
  models::Transformer model({.src_vocab = 9, .tgt_vocab = 9, .d_model = 8, .layers = 2, .heads = 2, .d_ff = 8});
  auto factor = factors(model, {.layer_decay = 0.5});
  EXPECT_EQ(factor.at("decoder.layers.1.norm1.weight"), 1);
  EXPECT_EQ(factor.at("decoder.layers.0.norm1.weight"), 0.5);
  EXPECT_EQ(factor.at("encoder.layers.1.norm1.weight"), 0.25);
  EXPECT_EQ(factor.at("encoder.layers.0.self_attention.query.weight"), 0.125);
  EXPECT_EQ(factor.at("src_embedding.weight"), 0.0625);
  EXPECT_EQ(LayerOrder(model).layers(), 4);
  models::Gpt gpt({.vocab = 9, .d_model = 8, .layers = 2, .heads = 2, .max_length = 4});
  factor = factors(gpt, {.layer_decay = 0.5});
  EXPECT_EQ(factor.at("embeddings.token.weight"), 0.25);
  EXPECT_EQ(factor.at("encoder.layers.0.norm1.weight"), 0.5);
  EXPECT_EQ(factor.at("encoder.norm.weight"), 1);
}

TEST(TrainedParameters, OrderSharedInputsBelowAllLayers) {
  models::T5 t5({.vocab = 9, .d_model = 8, .layers = 2, .decoder_layers = 2, .heads = 2, .head_width = 4, .d_ff = 8});
  const auto factor = factors(t5, {.layer_decay = 0.5});
  EXPECT_EQ(factor.at("encoder.relative_bias.weight"), 0.0625);
  EXPECT_EQ(factor.at("decoder.relative_bias.weight"), 0.0625);
  EXPECT_EQ(factor.at("decoder.norm.weight"), 1);
}

TEST(TrainedParameters, HaveLearningRatesByName) {
  models::Gpt gpt({.vocab = 9, .d_model = 8, .layers = 2, .heads = 2, .max_length = 4});
  const RateOptions options{
      .lr = 1e-3,
      .layer_decay = 0.5,
      .lr_of = {{"encoder.layers.0.norm1", 1e-2}, {"encoder.layers.*.norm*", 1e-4}, {"embeddings", 0}}};
  const auto factor = factors(gpt, options);
  EXPECT_DOUBLE_EQ(factor.at("encoder.layers.0.norm1.weight"), 10);
  EXPECT_DOUBLE_EQ(factor.at("encoder.layers.1.norm1.bias"), 0.1);
  EXPECT_EQ(factor.at("embeddings.token.weight"), 0);
  EXPECT_EQ(factor.at("encoder.layers.0.self_attention.query.weight"), 0.5);
  const optim::ParameterGroups plain = parameter_groups(gpt);
  ASSERT_EQ(plain.size(), 2U) << "matrices with weight decay, then the others";
  EXPECT_EQ(plain[0].weight_decay, std::nullopt);
  EXPECT_EQ(plain[1].weight_decay, 0);
  EXPECT_TAPE_ERROR(
      parameter_groups(gpt, {.lr = 1, .lr_of = {{"decoder", 1}}}), ErrorKind::config,
      "lr_of: nothing in the model matches \"decoder\"; it has parameters such as embeddings.token.weight");
  EXPECT_TAPE_ERROR(parameter_groups(gpt, {.lr = 1, .lr_of = {{"encoder", -1}}}), ErrorKind::config,
                    "lr_of: the rate of \"encoder\" must be a number >= 0, got -1");
}

}  // namespace
}  // namespace tape::train
