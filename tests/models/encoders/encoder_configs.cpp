// config.json of BERT-like models: defaults, spellings of several versions, and unsupported values.

#include <algorithm>

#include <fmt/format.h>

#include "models/encoders/architectures.h"

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/fixtures.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

/// A JSON object with more fields added at the front.
ConfigReader reader_of(const std::string& fields, const std::string& rest = "{}") {
  return {fmt::format("{{{}{}{}", fields, fields.empty() || rest == "{}" ? "" : ",", rest.substr(1)), "config.json"};
}

template <class Config>
Config read(const std::string& architecture, const std::string& fields, const std::string& rest = "{}") {
  const ConfigReader config = reader_of(fields, rest);
  return std::get<Config>(hf::read_encoder(*hf::encoder_architecture(architecture, config), config));
}

TEST(EncoderConfigs, HaveTransformersDefaults) {
  for (const auto& [type, all] : fixture_json("encoder_defaults.json").items()) {
    const hf::EncoderArchitecture architecture = *hf::encoder_of_type(type);
    // By default a DeBERTa has no relative positions.
    const bool deberta = type == "deberta-v2";
    const std::string needed = deberta ? R"("relative_attention": true, "pos_att_type": "c2p")" : "";
    nlohmann::json spelled = all;
    if (type == "bert") spelled.erase("pad_token_id");  // if it is missing, the tokenizer's is used
    if (deberta) spelled.erase("relative_attention"), spelled.erase("pos_att_type");
    const auto written = [&](const ConfigReader& config) {
      return nlohmann::json(hf::encoder_json(hf::read_encoder(architecture, config), hf::EncoderHead::none, f32));
    };
    const nlohmann::json alone = written(reader_of(needed)), whole = written(reader_of(needed, spelled.dump()));
    EXPECT_EQ(alone, whole) << type;
    // The written configurations may differ only in values that replace a missing one.
    const std::vector<std::string> settled{"architectures",          "dtype",
                                           "relative_attention",     "pos_att_type",
                                           "max_relative_positions", type == "bert" ? "pad_token_id" : ""};
    size_t same = 0;
    for (const auto& [key, value] : all.items())
      if (alone.contains(key) && std::ranges::find(settled, key) == settled.end()) {
        EXPECT_EQ(alone.at(key), value) << type << ": " << key;
        ++same;
      }
    EXPECT_GE(same, 12u) << type;
  }
}

TEST(EncoderConfigs, CountPositionsAfterThePadding) {
  EXPECT_EQ(read<RobertaConfig>("RobertaModel", R"("max_position_embeddings": 514)").max_length, 512);
  EXPECT_EQ(read<MPNetConfig>("MPNetForMaskedLM", R"("max_position_embeddings": 514)").max_length, 512);
  EXPECT_FALSE(read<MPNetConfig>("MPNetForMaskedLM", "").pooler);
  EXPECT_TRUE(read<MPNetConfig>("MPNetModel", "").pooler);
}

TEST(EncoderConfigs, ReadTransformersGeneralNamesOfDistilBertsSizes) {
  const auto c = read<DistilBertConfig>("DistilBertModel",
                                        R"("hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4)");
  EXPECT_EQ(c.d_model, 24);
  EXPECT_EQ(c.layers, 3);
  EXPECT_EQ(c.heads, 4);
}

TEST(EncoderConfigs, ReadBothSpellingsOfDebertasPositions) {
  const std::string rest = R"("relative_attention": true, "max_position_embeddings": 20)";
  const auto terms = [&](const std::string& text) {
    return read<DebertaConfig>("DebertaV2Model", fmt::format("{}, \"pos_att_type\": {}", rest, text)).terms;
  };
  EXPECT_EQ(terms("\"p2c|c2p\""), nn::PositionTerms::both);
  EXPECT_EQ(terms("[\"c2p\", \"p2c\"]"), nn::PositionTerms::both);
  EXPECT_EQ(terms("\"p2c\""), nn::PositionTerms::position_to_content);
  EXPECT_EQ(terms("[\"c2p\"]"), nn::PositionTerms::content_to_position);
  const auto c = read<DebertaConfig>(
      "DebertaV2ForMaskedLM",
      rest + R"(, "pos_att_type": "c2p", "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": true)");
  EXPECT_EQ(c.max_relative_positions, 20);
  EXPECT_EQ(c.position_buckets, 8);
  EXPECT_TRUE(c.norm_positions && c.share_projections && c.position_table);
}

TEST(EncoderConfigs, ReadBothSpellingsOfModernBertsLayers) {
  const auto older = read<ModernBertConfig>(
      "ModernBertModel",
      R"("num_hidden_layers": 4, "global_attn_every_n_layers": 2, "global_rope_theta": 5.0, "local_rope_theta": 7.0)");
  const auto newer = read<ModernBertConfig>("ModernBertModel", R"("num_hidden_layers": 4,
      "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"],
      "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 5.0},
                          "sliding_attention": {"rope_theta": 7.0}})");
  for (const ModernBertConfig& c : {older, newer}) {
    EXPECT_THAT(c.local_layers, testing::ElementsAre(false, true, false, true));
    EXPECT_EQ(c.global_theta, 5);
    EXPECT_EQ(c.local_theta, 7);
  }
  EXPECT_TRUE(read<ModernBertConfig>("ModernBertModel", "").is_local(1));
  EXPECT_FALSE(read<ModernBertConfig>("ModernBertModel", "").is_local(3));
}

TEST(EncoderConfigs, RefuseUnsupportedComputationsByName) {
  const auto refused = [](const std::string& architecture, const std::string& fields, const std::string& sentence) {
    const ConfigReader config = reader_of(fields);
    EXPECT_TAPE_ERROR(hf::read_encoder(*hf::encoder_architecture(architecture, config), config), ErrorKind::config,
                      fmt::format("config.json: {}", sentence));
  };
  refused("BertModel", R"("quantization_config": {})", "\"quantization_config\" must be left out, got {}");
  refused("RobertaModel", R"("position_embedding_type": "relative_key")",
          "\"position_embedding_type\" must be \"absolute\", got \"relative_key\"");
  refused("RobertaModel", R"("is_decoder": true)", "\"is_decoder\" must be false, got true");
  refused("RobertaModel", R"("pad_token_id": -1)", "\"pad_token_id\" must be at least 0, got -1");
  refused("XLMRobertaModel", R"("max_position_embeddings": 2)",
          "\"max_position_embeddings\" must be greater than pad_token_id + 1, where pad_token_id is 1, got 2");
  refused("MPNetModel", R"("relative_attention_num_buckets": 64)",
          "\"relative_attention_num_buckets\" must be 32, got 64");
  refused("MPNetModel", R"("pad_token_id": 0)", "\"pad_token_id\" must be 1, got 0");
  refused("DebertaV2Model", "", "\"relative_attention\" must be true, got nothing");
  const std::string deberta = R"("relative_attention": true, )";
  refused("DebertaV2Model", deberta + R"("pos_att_type": [])",
          "\"pos_att_type\" must be \"c2p\", \"p2c\" or both, got []");
  refused("DebertaV2Model", deberta + R"("pos_att_type": "p2p")",
          "\"pos_att_type\" must be \"c2p\", \"p2c\" or both, got \"p2p\"");
  refused("DebertaV2Model", deberta + R"("conv_kernel_size": 3)",
          "\"conv_kernel_size\" must be 0: its layer is not supported, got 3");
  refused("DebertaV2Model", deberta + R"("embedding_size": 8)",
          "\"embedding_size\" must be the hidden_size, 1536, got 8");
  refused("DebertaV2Model", deberta + R"("attention_head_size": 8)",
          "\"attention_head_size\" must be hidden_size / num_attention_heads, 64, got 8");
  refused("DebertaV2Model", deberta + R"("pos_att_type": "c2p", "norm_rel_ebd": "batch_norm")",
          "\"norm_rel_ebd\" must be \"none\" or \"layer_norm\", got \"batch_norm\"");
  refused("ModernBertModel", R"("sparse_prediction": true)", "\"sparse_prediction\" must be false, got true");
  refused("ModernBertModel", R"("rope_scaling": {"type": "linear", "factor": 2})",
          "\"rope_scaling\" must be left out, got {\"type\":\"linear\",\"factor\":2}");
  refused("ModernBertModel", R"("rope_parameters": {"full_attention": {"rope_type": "yarn"}})",
          "\"rope_parameters\": \"full_attention\": \"rope_type\" must be \"default\", got \"yarn\"");
  refused("ModernBertModel", R"("num_hidden_layers": 1, "layer_types": ["chunked_attention"])",
          "\"layer_types\" must be full_attention or sliding_attention, got [\"chunked_attention\"]");
  refused("ModernBertModel", R"("layer_types": ["full_attention"])",
          "\"layer_types\" must be a list of 22 layers, got [\"full_attention\"]");
  refused("ModernBertModel", R"("global_attn_every_n_layers": 0)",
          "\"global_attn_every_n_layers\" must be at least 1, got 0");
}

TEST(EncoderConfigs, AreCheckedBeforeAModelIsMade) {
  EXPECT_TAPE_ERROR(model_options(ModernBertConfig{.layers = 2, .local_layers = {true}}), ErrorKind::config,
                    "ModernBert: local_layers has 1 entries for 2 layers");
  EXPECT_TAPE_ERROR(model_options(MPNetConfig{.vocab = 5, .padding_id = 5}), ErrorKind::config,
                    "MPNet: padding_id 5 is outside [0, 5)");
  EXPECT_TAPE_ERROR(model_options(DistilBertConfig{.heads = 0}), ErrorKind::config,
                    "DistilBert: heads must be at least 1, got 0");
  EXPECT_TAPE_ERROR(model_options(DebertaConfig{.max_relative_positions = 0}), ErrorKind::config,
                    "Deberta: max_relative_positions must be at least 1, got 0");
}

TEST(EncoderConfigs, PreserveTheHeadsSettings) {
  const auto config = reader_of(R"("classifier_pooling": "mean", "problem_type": "regression", "num_labels": 3,
                                   "classifier_dropout": 0.25)");
  const auto architecture = *hf::encoder_architecture("ModernBertForSequenceClassification", config);
  const SequenceClassifierConfig c = hf::read_sequence_classifier(architecture, config);
  EXPECT_EQ(c.pooling, nn::Pooling::mean);
  EXPECT_EQ(c.problem_type, ProblemType::regression);
  EXPECT_EQ(c.num_labels, 3);
  EXPECT_EQ(c.dropout, 0.25);
  const auto other = reader_of(R"("classifier_pooling": "max")");
  EXPECT_TAPE_ERROR(hf::read_sequence_classifier(architecture, other), ErrorKind::config,
                    "config.json: \"classifier_pooling\" must be \"cls\" or \"mean\", got \"max\"");
  const auto mean = reader_of(R"("encoder_type": "distilbert")");
  const auto of_mean = hf::encoder_architecture(hf::kMeanClassifier, mean);
  EXPECT_STREQ(of_mean->family->stem, "DistilBert");
  EXPECT_EQ(hf::read_sequence_classifier(*of_mean, mean).pooling, nn::Pooling::mean);
  EXPECT_TAPE_ERROR(hf::encoder_architecture(hf::kMeanClassifier, reader_of(R"("encoder_type": "gpt2")")),
                    ErrorKind::config,
                    "config.json: \"encoder_type\" must be the model_type of an encoder, got \"gpt2\"");
}

}  // namespace
}  // namespace tape::models
