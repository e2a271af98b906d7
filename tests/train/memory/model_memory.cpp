#include "train/memory/model_memory.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape::train {
namespace {

template <class Model, class Config>
void expect_counted(const Config& config) {
  EXPECT_EQ(parameter_count(config), static_cast<double>(Model(config).parameter_count()));
}

TEST(ModelMemory, CountsTheModelsParameters) {
  for (const bool tied : {true, false}) {
    expect_counted<models::Gpt>(models::GptConfig{.vocab = 11,
                                                  .d_model = 8,
                                                  .layers = 3,
                                                  .heads = 2,
                                                  .d_ff = tied ? 0 : 20,
                                                  .max_length = 5,
                                                  .tie_output = tied});
    for (const nn::NormPlace norm : {nn::NormPlace::pre, nn::NormPlace::post})
      expect_counted<models::Transformer>(models::TransformerConfig{.src_vocab = 11,
                                                                    .tgt_vocab = tied ? 11 : 13,
                                                                    .d_model = 8,
                                                                    .layers = 3,
                                                                    .heads = 2,
                                                                    .d_ff = 20,
                                                                    .decoder_layers = tied ? 3 : 2,
                                                                    .decoder_d_ff = tied ? 20 : 12,
                                                                    .norm = norm,
                                                                    .max_length = 6,
                                                                    .share_embeddings = tied,
                                                                    .tie_output = tied});
    expect_counted<models::SequenceClassifier>(
        models::SequenceClassifierConfig{.encoder = models::BertConfig{.vocab = 11,
                                                                       .d_model = 8,
                                                                       .layers = 3,
                                                                       .heads = 2,
                                                                       .d_ff = 20,
                                                                       .max_length = 6,
                                                                       .segments = tied ? 1 : 2},
                                         .num_labels = 4,
                                         .pooling = tied ? nn::Pooling::mean : nn::Pooling::first});
    const auto of_family = [&]<class Config>(Config encoder) {
      encoder.vocab = 11, encoder.d_model = 8, encoder.layers = 3, encoder.heads = 2, encoder.d_ff = 20;
      encoder.max_length = 6, encoder.padding_id = 1;
      expect_counted<models::SequenceClassifier>(models::SequenceClassifierConfig{
          .encoder = encoder, .pooling = tied ? nn::Pooling::mean : nn::Pooling::first});
      expect_counted<models::TokenClassifier>(models::TokenClassifierConfig{.encoder = encoder, .num_labels = 4});
      expect_counted<models::SentenceEncoder>(models::SentenceEncoderConfig{.encoder = encoder});
      expect_counted<models::MaskedLanguageModel>(models::EncoderConfig(encoder));
    };
    of_family(models::RobertaConfig());
    of_family(models::DistilBertConfig());
    of_family(models::MPNetConfig());
    of_family(models::ModernBertConfig());
    of_family(models::DebertaConfig{.position_table = tied, .share_projections = tied, .norm_positions = tied});
    expect_counted<models::TokenClassifier>(
        models::TokenClassifierConfig{.encoder = models::BertConfig{.vocab = 11,
                                                                    .d_model = 8,
                                                                    .layers = 3,
                                                                    .heads = 2,
                                                                    .d_ff = 20,
                                                                    .max_length = 6,
                                                                    .segments = tied ? 1 : 2},
                                      .num_labels = 4});
  }
}

TEST(ModelMemory, RefusesMoreThanTheMachineHas) {
  check_memory("train lm", 1e6, {});
  try {
    check_memory("train lm", 1e15, {});
    ADD_FAILURE() << "16 PB";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_THAT(
        error.what(),
        testing::MatchesRegex("train lm: 1.000e\\+15 parameters take 3725290.3 GiB, with their gradients and Adam's "
                              "moments 14901161.2 GiB; (this machine has|the control group of this process may use) "
                              "[0-9.]+ [GM]iB"));
  }
}

TEST(ModelMemory, RefusesMoreThanItsControlGroupMayUse) {
  const TemporaryFolder root;
  std::filesystem::create_directories(root / "proc/self");
  std::filesystem::create_directories(root / "sys/fs/cgroup/jobs/one");
  write_text(root / "proc/self/cgroup", "0::/jobs/one\n");
  write_text(root / "sys/fs/cgroup/jobs/one/memory.max", "67108864\n");
  check_memory("train lm", 4 << 20, {}, root.path());
  EXPECT_TAPE_ERROR(
      check_memory("train lm", (4 << 20) + 1, {}, root.path()), ErrorKind::out_of_memory,
      "train lm: 4.194e+06 parameters take 16.0 MiB, with their gradients and Adam's moments 64.0 MiB; the "
      "control group of this process may use 64.0 MiB");
  const TaskOptions frugal{.out = {}, .step_in_backward = true, .moments = optim::MomentDtype::bf16};
  check_memory("train lm", 8 << 20, frugal, root.path());
  EXPECT_TAPE_ERROR(check_memory("train lm", 9 << 20, frugal, root.path()), ErrorKind::out_of_memory,
                    "train lm: 9.437e+06 parameters take 36.0 MiB, with Adam's moments 72.0 MiB; the control group of "
                    "this process may use 64.0 MiB");
}

}  // namespace
}  // namespace tape::train
