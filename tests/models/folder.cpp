#include "models/folder.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/random.h"
#include "autograd/safetensors.h"
#include "tests/support.h"

namespace tape::models {
namespace {

namespace fs = std::filesystem;

/// Every field differs from its default.
TransformerConfig unusual() {
  return {.src_vocab = 11,
          .tgt_vocab = 12,
          .d_model = 8,
          .layers = 2,
          .heads = 4,
          .d_ff = 10,
          .dropout = 0.25,
          .activation = nn::ActivationKind::silu,
          .norm = nn::NormPlace::pre,
          .norm_eps = 1e-7,
          .max_length = 9,
          .padding_id = 3,
          .share_embeddings = true,
          .tie_output = true};
}

TransformerConfig tiny() {
  return {.src_vocab = 7, .tgt_vocab = 7, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12, .max_length = 6};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// ---- config.json

TEST(TransformerConfigJson, KeepsEveryField) {
  const TransformerConfig config = unusual(), read = transformer_config_from_json(to_json(config), "here");
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
  EXPECT_EQ(read.padding_id, 3);
  EXPECT_TRUE(read.share_embeddings);
  EXPECT_TRUE(read.tie_output);
  EXPECT_EQ(to_json(read), to_json(config));
}

TEST(TransformerConfigJson, KeepsEveryActivationAndNumbersToTheLastBit) {
  TransformerConfig config = unusual();
  using nn::ActivationKind;
  for (const ActivationKind kind : {ActivationKind::relu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                                    ActivationKind::silu, ActivationKind::tanh, ActivationKind::sigmoid}) {
    config.activation = kind;
    EXPECT_EQ(transformer_config_from_json(to_json(config), "here").activation, kind);
  }
  config.norm = nn::NormPlace::post;
  config.dropout = 1.0 / 3;
  config.norm_eps = std::numeric_limits<double>::denorm_min();
  config.max_length = std::numeric_limits<int64_t>::max();
  config.padding_id = std::numeric_limits<int64_t>::min();
  const TransformerConfig read = transformer_config_from_json(to_json(config), "here");
  EXPECT_EQ(read.norm, nn::NormPlace::post);
  EXPECT_EQ(read.dropout, config.dropout);
  EXPECT_EQ(read.norm_eps, config.norm_eps);
  EXPECT_EQ(read.max_length, config.max_length);
  EXPECT_EQ(read.padding_id, config.padding_id);
}

/// `from` in a good configuration becomes `to`.
void expect_refused(const std::string& from, const std::string& to, ErrorKind kind, const std::string& sentence) {
  EXPECT_TAPE_ERROR(transformer_config_from_json(replaced(to_json(unusual()), from, to), "a/config.json"), kind,
                    "a/config.json: " + sentence);
}

TEST(TransformerConfigJson, RefusesUnknownAndMissingKeys) {
  expect_refused("\"heads\": 4", "\"head_count\": 4", ErrorKind::config, "\"heads\" is missing");
  expect_refused("\"heads\": 4", "\"heads\": 4, \"head_count\": 4", ErrorKind::config,
                 "\"head_count\" is not a known key");
  expect_refused("\"tgt_vocab_size\": 12,", "", ErrorKind::config, "\"tgt_vocab_size\" is missing");
  for (const char* key : {"src_vocab_size", "d_model", "layers", "d_ff", "dropout", "activation", "norm", "norm_eps",
                          "max_length", "pad_token_id", "share_embeddings", "tie_output"})
    expect_refused("\"" + std::string(key) + "\"", "\"other\"", ErrorKind::config,
                   "\"" + std::string(key) + "\" is missing");
}

TEST(TransformerConfigJson, RefusesValuesOfAnotherKind) {
  const auto heads = [](const std::string& value, const std::string& shown) {
    expect_refused("\"heads\": 4", "\"heads\": " + value, ErrorKind::config,
                   "\"heads\" must be a whole number, got " + shown);
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
  expect_refused("\"pre\"", "\"before\"", ErrorKind::config, "\"norm\" must be \"pre\" or \"post\", got \"before\"");
}

TEST(TransformerConfigJson, ReadsWholeNumbersAsFractions) {
  EXPECT_EQ(transformer_config_from_json(replaced(to_json(unusual()), "0.25", "0"), "here").dropout, 0);
}

TEST(TransformerConfigJson, LeavesTheRangeOfANumberToTheModel) {
  const std::string text = replaced(to_json(unusual()), "\"heads\": 4", "\"heads\": -1");
  const TransformerConfig read = transformer_config_from_json(text, "here");
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

TEST(TransformerConfigJson, RefusesWhatIsNotOneJsonObject) {
  expect_refused("\"heads\": 4", "\"heads\": 4, \"heads\": 2", ErrorKind::format, "\"heads\" stands twice");
  const auto refused = [](const std::string& text, const std::string& sentence) {
    EXPECT_TAPE_ERROR(transformer_config_from_json(text, "c"), ErrorKind::format, "c: " + sentence);
  };
  for (const char* text : {"[]", "5", "\"text\"", "null", "[{}]"}) refused(text, "not a JSON object");
  const auto deep = [](size_t depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  refused(deep(1'000'000), "nested deeper than 8");
  refused("{\"a\":" + std::string(1'000'000, '['), "nested deeper than 8");
}

TEST(TransformerConfigJson, SaysWhereTextIsCutOrBroken) {
  const std::string good = to_json(unusual());
  for (size_t length = 0; length < good.size() - 2; ++length) try {
      transformer_config_from_json(good.substr(0, length), "cut.json");
      ADD_FAILURE() << "accepted the first " << length << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_THAT(error.what(), testing::StartsWith("cut.json: ")) << length;
      EXPECT_THAT(error.what(), testing::HasSubstr("parse error at line")) << length;
    }
  for (const std::string& text : {good + "}", good + good, replaced(good, "silu", "\xff"),
                                  replaced(good, "0.25", "1e999"), replaced(good, "0.25", "NaN")})
    try {
      transformer_config_from_json(text, "broken.json");
      ADD_FAILURE() << "accepted " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_THAT(error.what(), testing::StartsWith("broken.json: "));
    }
}

// ---- the folder

/// A folder of its own for each test, gone afterwards.
class TransformerFolder : public testing::Test {
 protected:
  TransformerFolder() {
    std::string pattern = (fs::temp_directory_path() / "transformer.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~TransformerFolder() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void expect_refused(ErrorKind kind, const std::string& file, const std::string& sentence) const {
    EXPECT_TAPE_ERROR(load_transformer(folder_), kind, path(file) + ": " + sentence);
  }

  std::string folder_;
};

/// Weights away from their simple start (biases 0, norms 1), the same for the same seed.
void scatter(Transformer& model, uint64_t seed) {
  Generator stream(seed);
  const NoGrad no_grad;
  for (Tensor& parameter : model.parameters()) parameter.copy_(randn(parameter.shape(), f32, stream));
}

Tensor logits(Transformer& model) {
  model.eval();
  return model(tensor({{1, 2, 4}, {5, 1, 0}}, i64), tensor({{1, 6}, {2, 5}}, i64));
}

TEST_F(TransformerFolder, LoadsTheSameModel) {
  Transformer model(tiny());
  scatter(model, 5);
  save_transformer(folder_ + "/new/model", model);
  const auto loaded = load_transformer(folder_ + "/new/model");
  EXPECT_EQ(to_json(loaded->config()), to_json(tiny()));
  EXPECT_TRUE(tensors_equal(logits(*loaded), logits(model)));
  scatter(model, 6);
  EXPECT_FALSE(tensors_equal(logits(*loaded), logits(model))) << "the comparison sees the weights";
}

TEST_F(TransformerFolder, ReplacesAModel) {
  Transformer model(tiny());
  save_transformer(folder_, model);
  TransformerConfig wide = tiny();
  wide.d_ff = 20;
  Transformer other(wide);
  scatter(other, 7);
  save_transformer(folder_, other);
  EXPECT_TRUE(tensors_equal(logits(*load_transformer(folder_)), logits(other)));
}

TEST_F(TransformerFolder, KeepsSharedTablesShared) {
  TransformerConfig config = tiny();
  config.share_embeddings = config.tie_output = true;
  Transformer model(config);
  scatter(model, 8);
  save_transformer(folder_, model);
  int64_t tables = 0;
  for (const auto& [name, tensor] : load_safetensors(path("model.safetensors")).tensors)
    tables += tensor.shape() == Shape{7, 8};
  EXPECT_EQ(tables, 1) << "saved once";
  const auto loaded = load_transformer(folder_);
  EXPECT_TRUE(tensors_equal(logits(*loaded), logits(model)));
  EXPECT_TRUE(loaded->src_embedding->weight.is(loaded->tgt_embedding->weight));
  EXPECT_TRUE(loaded->output->weight.is(loaded->tgt_embedding->weight));
  EXPECT_EQ(loaded->parameter_count(), model.parameter_count());
}

TEST_F(TransformerFolder, KeepsATiedOutputTied) {
  TransformerConfig config = tiny();
  config.tie_output = true;
  Transformer model(config);
  scatter(model, 9);
  save_transformer(folder_, model);
  int64_t tables = 0;
  for (const auto& [name, tensor] : load_safetensors(path("model.safetensors")).tensors)
    tables += tensor.shape() == Shape{7, 8};
  EXPECT_EQ(tables, 2);
  const auto loaded = load_transformer(folder_);
  EXPECT_TRUE(tensors_equal(logits(*loaded), logits(model)));
  EXPECT_TRUE(loaded->output->weight.is(loaded->tgt_embedding->weight));
  EXPECT_FALSE(loaded->src_embedding->weight.is(loaded->tgt_embedding->weight));
}

TEST_F(TransformerFolder, NamesTheFileThatIsMissing) {
  EXPECT_TAPE_ERROR(load_transformer(path("nowhere")), ErrorKind::io,
                    path("nowhere/config.json: No such file or directory"));
  write("config.json", to_json(tiny()));
  expect_refused(ErrorKind::io, "model.safetensors", "cannot open: No such file or directory");
}

TEST_F(TransformerFolder, NamesAFolderInPlaceOfAFile) {
  fs::create_directory(path("config.json"));
  expect_refused(ErrorKind::io, "config.json", "Is a directory");
  EXPECT_TAPE_ERROR(save_transformer(folder_, Transformer(tiny())), ErrorKind::io, path("config.json: Is a directory"));
  fs::remove(path("config.json"));
  write("config.json", to_json(tiny()));
  fs::create_directory(path("model.safetensors"));
  expect_refused(ErrorKind::io, "model.safetensors", "cannot read: Is a directory");
}

TEST_F(TransformerFolder, NamesAFileInPlaceOfAFolder) {
  write("file", "");
  EXPECT_TAPE_ERROR(save_transformer(path("file"), Transformer(tiny())), ErrorKind::io, path("file: Not a directory"));
  EXPECT_TAPE_ERROR(save_transformer(path("file/model"), Transformer(tiny())), ErrorKind::io,
                    path("file/model: Not a directory"));
  EXPECT_TAPE_ERROR(load_transformer(path("file")), ErrorKind::io, path("file/config.json: Not a directory"));
}

TEST_F(TransformerFolder, NamesTheConfigurationThatNoModelHas) {
  write("config.json", replaced(to_json(tiny()), "\"heads\": 2", "\"heads\": 3"));
  expect_refused(ErrorKind::config, "config.json", "MultiHeadAttention: d_model 8 is not divisible by heads 3");
  write("config.json", replaced(to_json(tiny()), "\"layers\": 1", "\"layers\": -1"));
  expect_refused(ErrorKind::config, "config.json", "Transformer: layers must be at least 1, got -1");
  write("config.json", replaced(to_json(tiny()), "\"layers\": 1", "\"layers\": 1.5"));
  expect_refused(ErrorKind::config, "config.json", "\"layers\" must be a whole number, got 1.5");
  write("config.json", "[]");
  expect_refused(ErrorKind::format, "config.json", "not a JSON object");
}

TEST_F(TransformerFolder, NamesEveryTensorThatDoesNotFit) {
  Transformer model(tiny());
  save_transformer(folder_, model);
  write("config.json", replaced(to_json(tiny()), "\"d_ff\": 12", "\"d_ff\": 16"));
  expect_refused(ErrorKind::format, "model.safetensors",
                 "load_state_dict: Transformer does not fit:\n"
                 "  shape: \"decoder.layers.0.feed_forward.linear1.bias\" is [12], the model needs [16]\n"
                 "  shape: \"decoder.layers.0.feed_forward.linear1.weight\" is [12, 8], the model needs [16, 8]\n"
                 "  shape: \"decoder.layers.0.feed_forward.linear2.weight\" is [8, 12], the model needs [8, 16]\n"
                 "  shape: \"encoder.layers.0.feed_forward.linear1.bias\" is [12], the model needs [16]\n"
                 "  shape: \"encoder.layers.0.feed_forward.linear1.weight\" is [12, 8], the model needs [16, 8]\n"
                 "  shape: \"encoder.layers.0.feed_forward.linear2.weight\" is [8, 12], the model needs [8, 16]");
  write("config.json", to_json(tiny()));
  SafetensorsFile file = load_safetensors(path("model.safetensors"));
  file.tensors.erase("output.bias");
  file.tensors.emplace("output.offset", zeros({7}));
  save_safetensors(path("model.safetensors"), file.tensors);
  expect_refused(ErrorKind::format, "model.safetensors",
                 "load_state_dict: Transformer does not fit:\n"
                 "  missing: \"output.bias\" [7]\n"
                 "  unexpected: \"output.offset\" [7]");
}

TEST_F(TransformerFolder, NamesTheBrokenValues) {
  Transformer model(tiny());
  save_transformer(folder_, model);
  const std::string good = read("model.safetensors");
  for (const std::string& content : {std::string(), good.substr(0, 5), good.substr(0, 100),
                                     good.substr(0, good.size() - 1), good + "x", "\xff" + good.substr(1)}) {
    write("model.safetensors", content);
    try {
      load_transformer(folder_);
      ADD_FAILURE() << "accepted " << content.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_THAT(error.what(), testing::StartsWith(path("model.safetensors: ")));
    }
  }
}

}  // namespace
}  // namespace tape::models
