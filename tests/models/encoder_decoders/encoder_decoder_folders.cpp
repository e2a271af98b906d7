// transformers folders of encoder-decoder models: what is read from them, and what is refused.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "base/file.h"
#include "tests/models/folders/hugging_face_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

namespace fs = std::filesystem;

class EncoderDecoderFolder : public HuggingFaceFolder {};

TEST_F(EncoderDecoderFolder, LoadsAsAnyEncoderDecoderModel) {
  for (const char* name : {"marian", "m2m100", "bart", "mbart", "t5", "t5_gated", "mt5"})
    EXPECT_EQ(load<EncoderDecoder>(fixture_path(fmt::format("hugging_face/{}", name)))->options().tgt_vocab, 13)
        << name;
  take("gpt2");
  EXPECT_TAPE_ERROR(load<EncoderDecoder>(folder_.path()), ErrorKind::config,
                    fmt::format("{}: contains a Gpt, but an encoder-decoder model (Marian, M2M100, BART, mBART, "
                                "T5, mT5) is required",
                                path("config.json")));
}

TEST_F(EncoderDecoderFolder, IgnoresLayerDrop) {
  for (const char* name : {"bart", "m2m100"}) {
    take(name);
    const Tensor before = load<EncoderDecoder>(folder_.path())->parameters().front();
    replace("config.json", "\"encoder_layerdrop\": 0.0",
            "\"encoder_layerdrop\": 0.05");  // as in facebook/m2m100_418M
    EXPECT_TRUE(tensors_equal(load<EncoderDecoder>(folder_.path())->parameters().front(), before)) << name;
  }
}

TEST_F(EncoderDecoderFolder, MayHaveTransformersGeneralNamesOfSizes) {
  for (const auto& [name, heads] : {std::pair{"bart", "\"encoder_attention_heads\""}, std::pair{"t5", "\"num_heads\""},
                                    std::pair{"marian", "\"encoder_attention_heads\""}}) {
    take(name);
    const auto model = load<EncoderDecoder>(folder_.path());
    replace("config.json", "\"d_model\"", "\"hidden_size\"");
    replace("config.json", heads, "\"num_attention_heads\"");
    const auto renamed = load<EncoderDecoder>(folder_.path());
    EXPECT_EQ(renamed->options().encoder.heads, model->options().encoder.heads) << name;
  }
  // Both are in files of transformers 4, of which it used encoder_layers.
  take("bart");
  replace("config.json", "\"model_type\"", "\"num_hidden_layers\": 12, \"model_type\"");
  load_model(folder_.path());
}

TEST_F(EncoderDecoderFolder, SetsHowATargetStarts) {
  take("bart");
  EXPECT_EQ(load<Bart>(folder_.path())->options().forced_bos, 3);
  EXPECT_EQ(load<Bart>(folder_.path())->options().bos_id, 2);
  // Older versions set it in config.json; generation_config.json, if present, overrides that.
  replace("config.json", "\"d_model\"", "\"forced_bos_token_id\": 5, \"d_model\"");
  EXPECT_EQ(load<Bart>(folder_.path())->options().forced_bos, 3);
  fs::remove(path("generation_config.json"));
  const auto model = load<Bart>(folder_.path());
  EXPECT_EQ(model->options().forced_bos, 5);
  save(folder_ / "again", *model);
  EXPECT_EQ(load<Bart>(folder_ / "again")->options().forced_bos, 5);
  take("mbart");
  write_text(path("generation_config.json"), R"({"decoder_start_token_id": 7})");
  EXPECT_EQ(load<Bart>(folder_.path())->options().bos_id, 2);
  replace("config.json", "\"decoder_start_token_id\": 2", "\"decoder_start_token_id\": null");
  EXPECT_EQ(load<Bart>(folder_.path())->options().bos_id, 7);
  write_text(path("generation_config.json"), R"({"forced_bos_token_id": "one"})");
  EXPECT_TAPE_ERROR(load_model(folder_.path()), ErrorKind::config,
                    path("generation_config.json") + ": \"forced_bos_token_id\" must be an integer, got \"one\"");
}

TEST_F(EncoderDecoderFolder, TakesTheEndFromTheGenerationConfig) {
  for (const char* name : {"bart", "t5", "marian"}) {
    take(name);
    write_text(path("generation_config.json"), R"({"eos_token_id": 5})");
    EXPECT_EQ(load<EncoderDecoder>(folder_.path())->options().eos_id, 5) << name;
    write_text(path("generation_config.json"), R"({"eos_token_id": [7, 5]})");
    const auto model = load<EncoderDecoder>(folder_.path());
    EXPECT_EQ(model->options().eos_id, 7) << name;
    EXPECT_EQ(note_of(model->search, "f"), "f/generation_config.json: eos_token_id is not followed") << name;
  }
}

TEST_F(EncoderDecoderFolder, MayListSeveralEndsInConfigJson) {
  for (const char* name : {"bart", "mbart", "t5", "marian", "m2m100"}) {
    take(name);
    fs::remove(path("generation_config.json"));
    auto config = nlohmann::ordered_json::parse(read_text(path("config.json")));
    config["eos_token_id"] = {7, 5};
    config["forced_eos_token_id"] = 7;
    write_text(path("config.json"), config.dump());
    const auto model = load<EncoderDecoder>(folder_.path());
    EXPECT_EQ(model->options().eos_id, 7) << name;
    EXPECT_EQ(note_of(model->search, "f"), "f/generation_config.json: eos_token_id is not followed") << name;
    const TemporaryFolder to;
    save(to.path(), *model);
    EXPECT_EQ(nlohmann::json::parse(read_text(to / "generation_config.json")).at("eos_token_id"),
              nlohmann::json({7, 5}))
        << name;
    EXPECT_EQ(load<EncoderDecoder>(to.path())->options().eos_id, 7) << name;
  }
  write_text(path("config.json"), R"({"model_type": "m2m_100", "vocab_size": 13, "eos_token_id": []})");
  EXPECT_TAPE_ERROR(load_model(folder_.path()), ErrorKind::config,
                    path("config.json") + ": \"eos_token_id\" must be an integer or a list of at least one, got []");
}

TEST_F(EncoderDecoderFolder, KeepsTheKeysThatOnlyTransformersFollows) {
  const char* text = R"({"decoder_start_token_id": 2, "eos_token_id": 5, "pad_token_id": 1, "num_beams": 3,
                         "early_stopping": "never", "repetition_penalty": 1.5, "bad_words_ids": [[4]],
                         "bos_token_id": 6, "forced_eos_token_id": 3})";
  take("bart");
  write_text(path("generation_config.json"), text);
  save(folder_ / "again", *load<EncoderDecoder>(folder_.path()));
  EXPECT_EQ(nlohmann::json::parse(read_text(folder_ / "again/generation_config.json")), nlohmann::json::parse(text));
}

TEST_F(EncoderDecoderFolder, IsRefusedForTooManyBeams) {
  take("bart");
  write_text(path("generation_config.json"), R"({"num_beams": 1000})");
  EXPECT_EQ(load<Bart>(folder_.path())->search.beams, 1000);
  write_text(path("generation_config.json"), R"({"num_beams": 1000000})");
  EXPECT_TAPE_ERROR(load_model(folder_.path()), ErrorKind::config,
                    path("generation_config.json") + ": \"num_beams\" must be at most 1000, got 1000000");
}

TEST_F(EncoderDecoderFolder, IsSavedWithItsClassAndTheGivenStart) {
  take("mbart");
  const auto model = load<EncoderDecoder>(folder_.path());
  save(folder_ / "again", *model, {.target_start = TargetStart{.bos = 7, .forced_bos = 9}});
  const auto again = load<Bart>(folder_ / "again");
  EXPECT_EQ(again->config().kind, BartKind::mbart);
  EXPECT_EQ(again->options().bos_id, 7);
  EXPECT_EQ(again->options().forced_bos, 9);
  const nn::TransformerLayerOptions layer{.d_model = 4, .heads = 2, .d_ff = 5};
  const EncoderDecoder own(
      {.src_vocab = 5, .tgt_vocab = 5, .layers = 1, .decoder_layers = 1, .encoder = layer, .decoder = layer});
  EXPECT_TAPE_ERROR(save(folder_ / "own", own), ErrorKind::config,
                    folder_ / "own" + ": transformers has no class for a custom EncoderDecoder");
}

TEST_F(EncoderDecoderFolder, IsRefusedForUnsupportedComputations) {
  const auto refused = [&](const char* name, const std::string& key, const std::string& sentence) {
    expect_refused(name, "\"model_type\"", key + ", \"model_type\"", ErrorKind::config, sentence);
  };
  refused("bart", "\"normalize_before\": true", "\"normalize_before\" must be false, got true");
  refused("bart", "\"static_position_embeddings\": true", "\"static_position_embeddings\" must be false, got true");
  refused("bart", "\"extra_pos_embeddings\": 0", "\"extra_pos_embeddings\" must be 2, got 0");
  refused("mbart", "\"add_final_layer_norm\": false", "\"add_final_layer_norm\" must be true, got false");
  refused("t5", "\"quantization_config\": {}", "\"quantization_config\" must be left out, got {}");
  for (const char* name : {"t5", "bart", "marian", "m2m100"})
    refused(name, "\"is_causal\": false", "\"is_causal\" must be true, got false");
  expect_refused("mbart", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false", ErrorKind::config,
                 "\"tie_word_embeddings\" must be true, got false");
  expect_refused("t5", "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-relu-6\"", ErrorKind::config,
                 "\"feed_forward_proj\" must be an activation (relu, gelu_new, silu, ...), optionally prefixed with "
                 "\"gated-\", got "
                 "\"gated-relu-6\"");
  expect_refused("t5", "\"dense_act_fn\": \"relu\"", "\"dense_act_fn\": \"gelu\"", ErrorKind::config,
                 "\"dense_act_fn\" must be \"relu\", got \"gelu\"");
  expect_refused("t5_gated", "\"is_gated_act\": true", "\"is_gated_act\": false", ErrorKind::config,
                 "\"is_gated_act\" must be true, got false");
}

TEST_F(EncoderDecoderFolder, IsCheckedBeforeTheModelIsMade) {
  expect_refused("bart", "\"max_position_embeddings\": 11", "\"max_position_embeddings\": 9223372036854775807",
                 ErrorKind::config, "\"max_position_embeddings\" must be from 1 to 16777216, got 9223372036854775807");
  expect_refused(
      "t5", "\"relative_attention_max_distance\": 9", "\"relative_attention_max_distance\": 1", ErrorKind::config,
      "RelativeBias: needs at least 2 buckets per direction and a max_distance beyond half of them, got 4 and 1");
  take("t5");
  replace("config.json", "\"num_decoder_layers\": 2", "\"num_decoder_layers\": 60000");
  EXPECT_TAPE_ERROR(
      load_model(folder_.path()), ErrorKind::format,
      fmt::format("{}: 60000 layers, but {} has 47 tensors", path("config.json"), path("model.safetensors")));
  take("t5_gated");
  replace("config.json", "\"d_kv\": 3", "\"d_kv\": 4611686018427387904");
  EXPECT_THROW(load_model(folder_.path()), Error);
  take("bart");
  replace("config.json", "\"max_position_embeddings\": 11", "\"max_position_embeddings\": 12");
  expect_unfit(
      "\n  shape: \"model.encoder.embed_positions.weight\" is [13, 8], but config.json requires [14, 8]"
      "\n  shape: \"model.decoder.embed_positions.weight\" is [13, 8], but config.json requires [14, 8]");
}

TEST_F(EncoderDecoderFolder, HasAnUntiedT5OutputIfTheFileDoes) {
  take("t5");
  EXPECT_TRUE(load<T5>(folder_.path())->config().tie_output);
  change_tensors([](auto& tensors) { tensors["lm_head.weight"] = tensors.at("shared.weight").clone(); });
  EXPECT_TRUE(load<T5>(folder_.path())->config().tie_output) << "a copy of the table";
  change_tensors([](auto& tensors) {
    tensors["lm_head.weight"] = tensors.at("shared.weight") * 2;
    // The original files also contain this.
    tensors["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = zeros({8, 2});
  });
  const auto apart = load<T5>(folder_.path());
  EXPECT_FALSE(apart->config().tie_output);
  EXPECT_TRUE(apart->config().scale_output);
  T5Config gelu{.vocab = 5, .d_model = 4, .layers = 1, .decoder_layers = 1, .heads = 1, .d_ff = 4, .gated = true};
  gelu.activation = nn::ActivationKind::gelu;
  EXPECT_TAPE_ERROR(save(folder_ / "new", T5(gelu)), ErrorKind::config,
                    "T5: transformers has no name for a gelu gate; gelu_tanh is its \"gated-gelu\"");
  gelu.activation = nn::ActivationKind::gelu_tanh, gelu.kind = T5Kind::mt5;
  EXPECT_TAPE_ERROR(save(folder_ / "new", T5(gelu)), ErrorKind::config,
                    "T5: scale_output must be false for mT5, whose output transformers does not scale");
}

}  // namespace
}  // namespace tape::models
