#include "models/folders/folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "autograd/random.h"
#include "base/file.h"
#include "models/encoder_decoders/transformer_json.h"
#include "models/encoders/bert.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

namespace fs = std::filesystem;

TransformerConfig tiny_transformer() {
  return {.src_vocab = 7, .tgt_vocab = 7, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12, .max_length = 6};
}

class TransformerFolder : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& content) const { write_text(path(name), content); }
  void expect_refused(ErrorKind kind, const std::string& file, const std::string& sentence) const {
    EXPECT_TAPE_ERROR(load<Transformer>(folder_.path()), kind, path(file) + ": " + sentence);
  }

  const TemporaryFolder folder_;
};

/// Weights that differ from their initial values (biases 0, norms 1), determined by the seed.
void scatter(Transformer& model, uint64_t seed) {
  Generator stream(seed);
  const NoGrad no_grad;
  for (Tensor& parameter : model.parameters()) parameter.copy_(randn(parameter.shape(), f32, stream));
}

Tensor logits(Transformer& model) {
  model.eval();
  return model(tensor({{1, 2, 4}, {5, 1, 0}}, i64), tensor({{1, 6}, {2, 5}}, i64));
}

TEST_F(TransformerFolder, LoadsTheSavedModel) {
  Transformer model(tiny_transformer());
  scatter(model, 5);
  save(folder_ / "new/model", model);
  const auto loaded = load<Transformer>(folder_ / "new/model");
  EXPECT_EQ(to_json(loaded->config()), to_json(tiny_transformer()));
  EXPECT_TRUE(tensors_equal(logits(*loaded), logits(model)));
  scatter(model, 6);
  EXPECT_FALSE(tensors_equal(logits(*loaded), logits(model))) << "the logits depend on the weights";
}

TEST_F(TransformerFolder, ReplacesAModel) {
  Transformer model(tiny_transformer());
  save(folder_.path(), model);
  TransformerConfig wide = tiny_transformer();
  wide.d_ff = 20;
  Transformer other(wide);
  scatter(other, 7);
  save(folder_.path(), other);
  EXPECT_TRUE(tensors_equal(logits(*load<Transformer>(folder_.path())), logits(other)));
}

TEST_F(TransformerFolder, KeepsSharedTablesShared) {
  TransformerConfig config = tiny_transformer();
  config.share_embeddings = config.tie_output = true;
  Transformer model(config);
  scatter(model, 8);
  save(folder_.path(), model);
  int64_t tables = 0;
  for (const auto& [name, tensor] : load_safetensors(path("model.safetensors")).tensors)
    tables += tensor.shape() == Shape{7, 8};
  EXPECT_EQ(tables, 1) << "saved once";
  const auto loaded = load<Transformer>(folder_.path());
  EXPECT_TRUE(tensors_equal(logits(*loaded), logits(model)));
  EXPECT_TRUE(loaded->src_embedding->weight.is(loaded->tgt_embedding->weight));
  EXPECT_TRUE(loaded->output->weight.is(loaded->tgt_embedding->weight));
  EXPECT_EQ(loaded->parameter_count(), model.parameter_count());
}

TEST_F(TransformerFolder, KeepsATiedOutputTied) {
  TransformerConfig config = tiny_transformer();
  config.tie_output = true;
  Transformer model(config);
  scatter(model, 9);
  save(folder_.path(), model);
  int64_t tables = 0;
  for (const auto& [name, tensor] : load_safetensors(path("model.safetensors")).tensors)
    tables += tensor.shape() == Shape{7, 8};
  EXPECT_EQ(tables, 2);
  const auto loaded = load<Transformer>(folder_.path());
  EXPECT_TRUE(tensors_equal(logits(*loaded), logits(model)));
  EXPECT_TRUE(loaded->output->weight.is(loaded->tgt_embedding->weight));
  EXPECT_FALSE(loaded->src_embedding->weight.is(loaded->tgt_embedding->weight));
}

TEST_F(TransformerFolder, NamesTheFileThatIsMissing) {
  EXPECT_TAPE_ERROR(load<Transformer>(path("nowhere")), ErrorKind::io,
                    path("nowhere/config.json: cannot open: No such file or directory"));
  write("config.json", to_json(tiny_transformer()));
  expect_refused(ErrorKind::io, "model.safetensors", "cannot open: No such file or directory");
}

TEST_F(TransformerFolder, NamesAFolderInsteadOfAFile) {
  fs::create_directory(path("config.json"));
  expect_refused(ErrorKind::io, "config.json", "cannot read: Is a directory");
  EXPECT_TAPE_ERROR(save(folder_.path(), Transformer(tiny_transformer())), ErrorKind::io,
                    path("config.json: cannot rename the temporary file to it: Is a directory"));
  fs::remove(path("config.json"));
  write("config.json", to_json(tiny_transformer()));
  fs::remove(path("model.safetensors"));
  fs::create_directory(path("model.safetensors"));
  expect_refused(ErrorKind::io, "model.safetensors", "cannot read: Is a directory");
}

TEST_F(TransformerFolder, NamesAFileInsteadOfAFolder) {
  write("file", "");
  EXPECT_TAPE_ERROR(save(path("file"), Transformer(tiny_transformer())), ErrorKind::io, path("file: Not a directory"));
  EXPECT_TAPE_ERROR(save(path("file/model"), Transformer(tiny_transformer())), ErrorKind::io,
                    path("file/model: Not a directory"));
  EXPECT_TAPE_ERROR(load<Transformer>(path("file")), ErrorKind::io,
                    path("file/config.json: cannot open: Not a directory"));
}

TEST_F(TransformerFolder, NamesAnInvalidConfiguration) {
  save(folder_.path(), Transformer(tiny_transformer()));
  write("config.json", replaced(to_json(tiny_transformer()), "\"heads\": 2", "\"heads\": 3"));
  expect_refused(ErrorKind::config, "config.json", "MultiHeadAttention: d_model 8 is not divisible by heads 3");
  write("config.json", replaced(to_json(tiny_transformer()), "\"layers\": 1", "\"layers\": -1"));
  expect_refused(ErrorKind::config, "config.json", "layers must be at least 1, got -1");
  write("config.json", replaced(to_json(tiny_transformer()), "\"layers\": 1", "\"layers\": 1.5"));
  expect_refused(ErrorKind::config, "config.json", "\"layers\" must be an integer, got 1.5");
  write("config.json", "[]");
  expect_refused(ErrorKind::format, "config.json", "not a JSON object");
}

TEST_F(TransformerFolder, NamesEveryMismatchedTensor) {
  Transformer model(tiny_transformer());
  save(folder_.path(), model);
  write("config.json", replaced(to_json(tiny_transformer()), "\"d_ff\": 12", "\"d_ff\": 16"));
  expect_refused(
      ErrorKind::format, "model.safetensors",
      "the tensors do not match config.json:\n"
      "  shape: \"encoder.layers.0.feed_forward.linear1.weight\" is [12, 8], but config.json requires [16, 8]\n"
      "  shape: \"encoder.layers.0.feed_forward.linear1.bias\" is [12], but config.json requires [16]\n"
      "  shape: \"encoder.layers.0.feed_forward.linear2.weight\" is [8, 12], but config.json requires [8, 16]\n"
      "  shape: \"decoder.layers.0.feed_forward.linear1.weight\" is [12, 8], but config.json requires [16, 8]\n"
      "  shape: \"decoder.layers.0.feed_forward.linear1.bias\" is [12], but config.json requires [16]\n"
      "  shape: \"decoder.layers.0.feed_forward.linear2.weight\" is [8, 12], but config.json requires [8, 16]");
  write("config.json", to_json(tiny_transformer()));
  SafetensorsFile file = load_safetensors(path("model.safetensors"));
  file.tensors.erase("output.bias");
  file.tensors.emplace("output.offset", zeros({7}));
  save_safetensors(path("model.safetensors"), file.tensors);
  expect_refused(ErrorKind::format, "model.safetensors",
                 "the tensors do not match config.json:\n"
                 "  missing: \"output.bias\" [7]\n"
                 "  unexpected: \"output.offset\" [7]");
}

TEST_F(TransformerFolder, NamesTheFileWithInvalidValues) {
  Transformer model(tiny_transformer());
  save(folder_.path(), model);
  const std::string good = read_text(path("model.safetensors"));
  for (const std::string& content : {std::string(), good.substr(0, 5), good.substr(0, 100),
                                     good.substr(0, good.size() - 1), good + "x", "\xff" + good.substr(1)}) {
    write("model.safetensors", content);
    try {
      load<Transformer>(folder_.path());
      ADD_FAILURE() << "accepted " << content.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_THAT(error.what(), testing::StartsWith(path("model.safetensors: ")));
    }
  }
}

TEST(ShardedFolder, IsLeftAsItWasIfAShardCannotBeWritten) {
  const TemporaryFolder folder;
  const auto write = [&] {
    save(folder.path(), Bert({.vocab = 5, .d_model = 4, .layers = 1, .heads = 2}), {.max_shard_bytes = 400});
  };
  const auto entries = [&] {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& file : fs::directory_iterator(folder.path()))
      if (file.is_regular_file()) files[file.path().filename()] = read_text(file.path());
    return files;
  };
  write();
  const auto before = entries();
  ASSERT_GT(before.size(), 4U);
  std::string last;
  for (const auto& [name, content] : before)
    if (name.ends_with(".safetensors")) last = name;
  fs::create_directory(folder / (last + ".new"));
  fs::create_directory(folder / (last + ".new/full"));
  EXPECT_THROW(write(), Error);
  EXPECT_EQ(entries(), before);
  fs::remove_all(folder / (last + ".new"));
  write();
  EXPECT_NE(entries(), before);
  EXPECT_EQ(entries().size(), before.size());
  load_model(folder.path());
}

}  // namespace
}  // namespace tape::models
