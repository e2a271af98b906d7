#include "models/encoder_decoders/transformer_json.h"

#include <limits>

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace tape::models {
namespace {

TransformerConfig read_config(const std::string& text, const std::string& where) {
  return transformer_config_from_json({text, where});
}

/// Every field differs from its default.
TransformerConfig unusual() {
  return {.src_vocab = 11,
          .tgt_vocab = 12,
          .d_model = 8,
          .layers = 2,
          .heads = 4,
          .d_ff = 10,
          .decoder_layers = 3,
          .decoder_heads = 2,
          .decoder_d_ff = 9,
          .dropout = 0.25,
          .attention_dropout = 0.125,
          .activation_dropout = 0.5,
          .activation = nn::ActivationKind::silu,
          .norm = nn::NormPlace::pre,
          .norm_eps = 1e-7,
          .max_length = 9,
          .positions = nn::SinusoidLayout::halves,
          .scale_embedding = false,
          .padding_id = 3,
          .bos_id = 4,
          .eos_id = 5,
          .share_embeddings = true,
          .tie_output = true,
          .output_bias = true,
          .freeze_padding = true};
}

TEST(TransformerConfigJson, PreservesEveryField) {
  const TransformerConfig config = unusual(), read = read_config(to_json(config), "here");
  EXPECT_EQ(read.src_vocab, 11);
  EXPECT_EQ(read.tgt_vocab, 12);
  EXPECT_EQ(read.d_model, 8);
  EXPECT_EQ(read.layers, 2);
  EXPECT_EQ(read.heads, 4);
  EXPECT_EQ(read.d_ff, 10);
  EXPECT_EQ(read.dropout, 0.25);
  EXPECT_EQ(read.activation, nn::ActivationKind::silu);
  EXPECT_EQ(read.norm, nn::NormPlace::pre);
  EXPECT_EQ(read.norm_eps, 1e-7);
  EXPECT_EQ(read.max_length, 9);
  EXPECT_EQ(read.decoder_layers, 3);
  EXPECT_EQ(read.decoder_heads, 2);
  EXPECT_EQ(read.decoder_d_ff, 9);
  EXPECT_EQ(read.attention_dropout, 0.125);
  EXPECT_EQ(read.activation_dropout, 0.5);
  EXPECT_EQ(read.positions, nn::SinusoidLayout::halves);
  EXPECT_FALSE(read.scale_embedding);
  EXPECT_EQ(read.padding_id, 3);
  EXPECT_EQ(read.bos_id, 4);
  EXPECT_EQ(read.eos_id, 5);
  EXPECT_EQ(read.output_bias, true);
  EXPECT_EQ(read.freeze_padding, true);
  EXPECT_TRUE(read.share_embeddings);
  EXPECT_TRUE(read.tie_output);
  EXPECT_EQ(to_json(read), to_json(config));
}

TEST(TransformerConfigJson, PreservesUnsetFields) {
  const TransformerConfig read = read_config(to_json({.src_vocab = 5, .tgt_vocab = 5}), "here");
  EXPECT_EQ(read.decoder_layers, std::nullopt);
  EXPECT_EQ(read.attention_dropout, std::nullopt);
  EXPECT_EQ(read.output_bias, std::nullopt);
}

TEST(TransformerConfigJson, PreservesEveryActivationAndExactNumbers) {
  TransformerConfig config = unusual();
  using nn::ActivationKind;
  for (const ActivationKind kind : {ActivationKind::relu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                                    ActivationKind::silu, ActivationKind::tanh, ActivationKind::sigmoid}) {
    config.activation = kind;
    EXPECT_EQ(read_config(to_json(config), "here").activation, kind);
  }
  config.norm = nn::NormPlace::post;
  config.dropout = 1.0 / 3;
  config.norm_eps = std::numeric_limits<double>::denorm_min();
  config.max_length = std::numeric_limits<int64_t>::max();
  config.padding_id = std::numeric_limits<int64_t>::min();
  const TransformerConfig read = read_config(to_json(config), "here");
  EXPECT_EQ(read.norm, nn::NormPlace::post);
  EXPECT_EQ(read.dropout, config.dropout);
  EXPECT_EQ(read.norm_eps, config.norm_eps);
  EXPECT_EQ(read.max_length, config.max_length);
  EXPECT_EQ(read.padding_id, config.padding_id);
}

/// Replaces `from` by `to` in a valid configuration.
void expect_refused(const std::string& from, const std::string& to, ErrorKind kind, const std::string& sentence) {
  EXPECT_TAPE_ERROR(read_config(replaced(to_json(unusual()), from, to), "a/config.json"), kind,
                    "a/config.json: " + sentence);
}

TEST(TransformerConfigJson, RefusesUnknownAndMissingKeys) {
  expect_refused("\"heads\": 4", "\"head_count\": 4", ErrorKind::config, "\"heads\" is missing");
  expect_refused("\"heads\": 4", "\"heads\": 4, \"head_count\": 4", ErrorKind::config,
                 "\"head_count\" is an unknown key");
  expect_refused("\"tgt_vocab_size\": 12,", "", ErrorKind::config, "\"tgt_vocab_size\" is missing");
  for (const char* key : {"src_vocab_size", "d_model", "layers", "d_ff", "dropout", "activation", "norm", "norm_eps",
                          "max_length", "pad_token_id", "bos_token_id", "positions", "share_embeddings", "tie_output"})
    expect_refused("\"" + std::string(key) + "\"", "\"other\"", ErrorKind::config,
                   "\"" + std::string(key) + "\" is missing");
}

TEST(TransformerConfigJson, RefusesValuesOfTheWrongType) {
  const auto heads = [](const std::string& value, const std::string& shown) {
    expect_refused("\"heads\": 4", "\"heads\": " + value, ErrorKind::config,
                   "\"heads\" must be an integer, got " + shown);
  };
  heads("1.9", "1.9");
  heads("4.0", "4.0");
  heads("\"6\"", "\"6\"");
  heads("1e300", "1e+300");
  heads("true", "true");
  heads("null", "null");
  heads("[4]", "[4]");
  heads("9223372036854775808", "9223372036854775808");
  expect_refused("0.25", "\"0.25\"", ErrorKind::config, "\"dropout\" must be a number, got \"0.25\"");
  expect_refused("0.25", "false", ErrorKind::config, "\"dropout\" must be a number, got false");
  expect_refused("\"tie_output\": true", "\"tie_output\": 1", ErrorKind::config,
                 "\"tie_output\" must be true or false, got 1");
  expect_refused("\"share_embeddings\": true", "\"share_embeddings\": \"yes\"", ErrorKind::config,
                 "\"share_embeddings\" must be true or false, got \"yes\"");
  expect_refused("\"silu\"", "5", ErrorKind::config, "\"activation\" must be a string, got 5");
  expect_refused("\"silu\"", "\"swish\"", ErrorKind::config,
                 "\"activation\" must be one of relu, gelu, gelu_tanh, silu, tanh, sigmoid, got \"swish\"");
  expect_refused("\"pre\"", "\"before\"", ErrorKind::config,
                 "\"norm\" must be one of pre, post, post_dropout, got \"before\"");
}

TEST(TransformerConfigJson, AcceptsIntegersForFloatingPointValues) {
  EXPECT_EQ(read_config(replaced(to_json(unusual()), "0.25", "0"), "here").dropout, 0);
}

TEST(TransformerConfigJson, LeavesRangeChecksToTheModel) {
  const std::string text = replaced(to_json(unusual()), "\"heads\": 4", "\"heads\": -1");
  const TransformerConfig read = read_config(text, "here");
  EXPECT_EQ(read.heads, -1);
  EXPECT_TAPE_ERROR(Transformer(read), ErrorKind::config, "Transformer: heads must be at least 1, got -1");
}

TEST(TransformerConfigJson, RefusesAnotherModel) {
  expect_refused("tapeformer-transformer", "bert", ErrorKind::config,
                 "\"model_type\" must be \"tapeformer-transformer\", got \"bert\"");
  expect_refused("\"tapeformer-transformer\"", "5", ErrorKind::config,
                 "\"model_type\" must be \"tapeformer-transformer\", got 5");
  expect_refused("\"model_type\"", "\"type\"", ErrorKind::config,
                 "\"model_type\" must be \"tapeformer-transformer\", got nothing");
}

TEST(TransformerConfigJson, RefusesAnythingButOneJsonObject) {
  expect_refused("\"heads\": 4", "\"heads\": 4, \"heads\": 2", ErrorKind::format, "duplicate key \"heads\"");
  const auto refused = [](const std::string& text, const std::string& sentence) {
    EXPECT_TAPE_ERROR(read_config(text, "c"), ErrorKind::format, "c: " + sentence);
  };
  for (const char* text : {"[]", "5", "\"text\"", "null", "[{}]"}) refused(text, "not a JSON object");
  const auto deep = [](size_t depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  refused(deep(1'000'000), "nested deeper than 8");
  refused("{\"a\":" + std::string(1'000'000, '['), "nested deeper than 8");
}

TEST(TransformerConfigJson, ReportsWhereTextIsTruncatedOrInvalid) {
  const std::string good = to_json(unusual());
  for (size_t length = 0; length < good.size() - 2; ++length) try {
      read_config(good.substr(0, length), "cut.json");
      ADD_FAILURE() << "accepted the first " << length << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_THAT(error.what(), testing::StartsWith("cut.json: ")) << length;
      EXPECT_THAT(error.what(), testing::HasSubstr("parse error at line")) << length;
    }
  for (const std::string& text : {good + "}", good + good, replaced(good, "silu", "\xff"),
                                  replaced(good, "0.25", "1e999"), replaced(good, "0.25", "NaN")})
    try {
      read_config(text, "broken.json");
      ADD_FAILURE() << "accepted " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_THAT(error.what(), testing::StartsWith("broken.json: "));
    }
}

}  // namespace
}  // namespace tape::models
