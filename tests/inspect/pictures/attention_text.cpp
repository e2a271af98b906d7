#include "inspect/pictures/attention_text.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/pictures/attention_picture.h"
#include "inspect/pictures/heat_map.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/support/errors.h"

namespace tape::inspect {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class AttentionText : public testing::Test {
 protected:
  AttentionText() { manual_seed(3); }

  models::Transformer model{{.src_vocab = 9,
                             .tgt_vocab = 7,
                             .d_model = 8,
                             .layers = 1,
                             .heads = 2,
                             .d_ff = 12,
                             .dropout = 0,
                             .max_length = 8}};
  const Study made =
      study(model, {.ids = {4, 8, 2}, .tokens = {"vier", "acht", "<eos>"}}, {.ids = {5}, .tokens = {"four"}});
  const std::vector<std::string> source{"vier", "acht", "<eos>"}, target{"<bos>", "four"};

  /// Values or gradients of one head in the page's data.
  std::vector<double> shown(size_t module, bool gradients, int64_t head) {
    const Json data = explorer_data(made)["attention"][module];
    const Json& of = gradients ? data["gradients"][0] : data["values"];
    return cast(tensor_of(of["probabilities"])[head], f64).to_vector<double>();
  }
};

TEST_F(AttentionText, DrawsTheProbabilitiesOfTheLastModule) {
  const std::string text = attention_text(made, {.head = 1});
  EXPECT_EQ(text, attention_picture(shown(2, false, 1), target, source,
                                    {.title = "decoder.layers.0.cross_attention, head 1: probabilities"}) +
                      "\nmodules:\n  encoder.layers.0.self_attention\n  decoder.layers.0.self_attention\n"
                      "  decoder.layers.0.cross_attention\n");
}

TEST_F(AttentionText, DrawsGradientsOfAChosenModule) {
  const std::string text =
      attention_text(made, {.block = "encoder.layers.0.self_attention", .head = 0, .gradients = true});
  const std::string map = heat_map(reshape(from_vector(shown(0, true, 0), {9}), Shape{3, 3}),
                                   {.rows = source,
                                    .columns = source,
                                    .title = "encoder.layers.0.self_attention, head 0: gradient of the probabilities"});
  // Fused and composed gradients differ in their last bits, which the shades do not show.
  EXPECT_EQ(text.substr(0, text.find("  ·")), map.substr(0, map.find("  ·")));
  for (const NamedTensor& parameter : model.named_parameters()) EXPECT_FALSE(parameter.tensor.grad().defined());
}

TEST_F(AttentionText, AveragesTheHeadsIfNoneIsChosen) {
  EXPECT_THAT(attention_text(made), StartsWith("decoder.layers.0.cross_attention, mean of 2 heads: probabilities\n"));
  std::vector<double> mean = shown(2, false, 0);
  const std::vector<double> other = shown(2, false, 1);
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + other[i]) / 2;
  EXPECT_THAT(
      attention_text(made),
      HasSubstr(attention_picture(mean, target, source,
                                  {.title = "decoder.layers.0.cross_attention, mean of 2 heads: probabilities"})));
}

TEST_F(AttentionText, RefusesUnknownHeadsAndModules) {
  EXPECT_TAPE_ERROR(attention_text(made, {.head = 2}), ErrorKind::index,
                    "decoder.layers.0.cross_attention: head 2 is outside [0, 2)");
  EXPECT_TAPE_ERROR(attention_text(made, {.block = "encoder"}), ErrorKind::config,
                    "AttentionProbe: \"encoder\" was not called; these were: encoder.layers.0.self_attention, "
                    "decoder.layers.0.self_attention, decoder.layers.0.cross_attention");
  EXPECT_TAPE_ERROR(attention_text(study(model, [] { return scalar(1); })), ErrorKind::config,
                    "attention_text: the study has no texts that attention is between");
}

}  // namespace
}  // namespace tape::inspect
