// transformers folders: what is read from them, and what is refused.

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "models/folders/config_reader.h"
#include "models/folders/folder.h"
#include "tests/models/folders/hugging_face_folder.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/growth.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

namespace fs = std::filesystem;

TEST_F(HuggingFaceFolder, ReadsSizesAndOptions) {
  take("gpt2");
  const auto gpt = load<Gpt>(folder_.path());
  EXPECT_EQ(gpt->config().d_ff, 12);
  EXPECT_EQ(gpt->config().bos_id, 1);
  EXPECT_EQ(gpt->config().eos_ids, std::vector<int64_t>{2});
  EXPECT_EQ(gpt->config().activation, nn::ActivationKind::gelu_tanh);
  EXPECT_TRUE(gpt->output->weight.is(gpt->embeddings->token->weight));
  EXPECT_FALSE(gpt->is_training());
  take("marian");
  const auto marian = load<Transformer>(folder_.path());
  EXPECT_EQ(marian->config().bos_id, 12);
  EXPECT_EQ(marian->config().eos_id, 0);
  EXPECT_EQ(marian->config().decoder_layers, 2);
  EXPECT_TRUE(marian->src_embedding->weight.is(marian->output->weight));
  take("bert_classifier");
  const auto classifier = load<SequenceClassifier>(folder_.path());
  EXPECT_THAT(classifier->config().labels, testing::ElementsAre("sad", "plain", "glad"));
  EXPECT_EQ(classifier->config().num_labels, 3);
  EXPECT_EQ(std::get<BertConfig>(classifier->config().encoder).norm_eps, 1e-12);
}

TEST_F(HuggingFaceFolder, NamesTheClassItContains) {
  take("gpt2");
  EXPECT_TAPE_ERROR(load<Bert>(folder_.path()), ErrorKind::config,
                    fmt::format("{}: contains a Gpt, but a Bert without a head is required", path("config.json")));
}

TEST_F(HuggingFaceFolder, LoadsAsAnyDecoderOnlyModel) {
  for (const char* name : {"gpt2", "llama", "mistral", "qwen2", "qwen3", "gpt_neox"})
    EXPECT_EQ(load<CausalLM>(fixture_path(fmt::format("hugging_face/{}", name)))->vocab(), 13) << name;
  take("bert");
  EXPECT_TAPE_ERROR(load<CausalLM>(folder_.path()), ErrorKind::config,
                    fmt::format("{}: contains a Bert, but a decoder-only model (GPT-2, Llama, Mistral, Qwen2, "
                                "Qwen3, GPT-NeoX) is required",
                                path("config.json")));
  EXPECT_TAPE_ERROR(save(folder_.path(), CausalLM({.vocab = 5, .d_model = 512, .layers = {{}}})), ErrorKind::config,
                    fmt::format("{}: transformers has no class for a custom CausalLM", folder_.path()));
}

TEST_F(HuggingFaceFolder, MayContainADecodersBuffersAndEitherNameOfTheOutput) {
  const std::string output = "embed_out.weight", named = "lm_head.weight";
  take("gpt_neox");
  const Tensor weight = load<GptNeoX>(folder_.path())->output->weight.detach().clone();
  change_tensors([&](auto& tensors) {
    tensors["gpt_neox.layers.0.attention.rotary_emb.inv_freq"] = zeros({2});
    tensors["gpt_neox.layers.1.attention.masked_bias"] = zeros({1});
    tensors[named] = tensors.at(output);
    tensors.erase(output);
  });
  EXPECT_TRUE(tensors_equal(load<GptNeoX>(folder_.path())->output->weight, weight));
  change_tensors([&](auto& tensors) { tensors[output] = tensors.at(named); });
  expect_unfit("\n  unexpected: \"lm_head.weight\" [13, 16]");
  take("llama");
  change_tensors([](auto& tensors) { tensors["model.layers.1.self_attn.rotary_emb.inv_freq"] = zeros({2}); });
  load<Llama>(folder_.path());
}

TEST_F(HuggingFaceFolder, IsCheckedBeforeADecoderIsMade) {
  expect_refused("llama", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", ErrorKind::config,
                 "Llama: heads 4 is not divisible by kv_heads 3");
  expect_refused("gpt_neox", "\"num_attention_heads\": 4", "\"num_attention_heads\": 5", ErrorKind::config,
                 "GptNeoX: d_model 16 is not divisible by heads 5");
  expect_refused("qwen2", "\"use_sliding_window\": true", "\"use_sliding_window\": false", ErrorKind::config,
                 "Llama: window_layers selects layers, but window is not set");
  take("llama");
  replace("config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 60000");
  EXPECT_TAPE_ERROR(
      load_model(folder_.path()), ErrorKind::format,
      fmt::format("{}: 60000 layers, but {} has 20 tensors", path("config.json"), path("model.safetensors")));
  take("qwen3");
  replace("config.json", "\"head_dim\": 6", "\"head_dim\": 2305843009213693952");
  EXPECT_THROW(load_model(folder_.path()), Error);
}

TEST_F(HuggingFaceFolder, ListsSupportedArchitectures) {
  const std::string rest =
      " is not supported; supported are Bert, Roberta, XLMRoberta, DistilBert, MPNet, DebertaV2 and ModernBert, each "
      "as Model, "
      "ForMaskedLM, ForSequenceClassification, "
      "ForTokenClassification or ForQuestionAnswering; GPT2LMHeadModel, LlamaForCausalLM, MistralForCausalLM, "
      "Qwen2ForCausalLM, Qwen3ForCausalLM, GPTNeoXForCausalLM, MarianMTModel, M2M100ForConditionalGeneration, "
      "BartForConditionalGeneration, MBartForConditionalGeneration, T5ForConditionalGeneration, "
      "MT5ForConditionalGeneration, ViTModel, ViTForImageClassification and \"model_type\" "
      "\"tapeformer-transformer\"";
  expect_refused("gpt2", "GPT2LMHeadModel", "GemmaForCausalLM", ErrorKind::config,
                 fmt::format("architecture \"GemmaForCausalLM\"{}", rest));
  take("gpt2");
  replace("config.json", "\"model_type\": \"gpt2\"", "\"model_type\": \"gemma\"");
  replace("config.json", "\"architectures\"", "\"architecture\"");
  EXPECT_TAPE_ERROR(load_model(folder_.path()), ErrorKind::config,
                    fmt::format("{}: \"model_type\" \"gemma\" without \"architectures\"{}", path("config.json"), rest));
  expect_refused("gpt2", "[\n    \"GPT2LMHeadModel\"\n  ]", "5", ErrorKind::config,
                 "\"architectures\" must be a list of names, got 5");
}

TEST_F(HuggingFaceFolder, RefusesUnsupportedComputations) {
  expect_refused("bert", "\"gelu\"", "\"mish\"", ErrorKind::config,
                 "\"hidden_act\" must be one of relu, gelu, gelu_python, gelu_new, gelu_pytorch_tanh, "
                 "gelu_python_tanh, gelu_fast, "
                 "gelu_accurate, silu, swish, tanh, sigmoid, got \"mish\"");
  expect_refused("bert", "\"is_decoder\": false", "\"is_decoder\": true", ErrorKind::config,
                 "\"is_decoder\" must be false, got true");
  expect_refused("bert", "\"is_decoder\": false", "\"position_embedding_type\": \"relative_key\"", ErrorKind::config,
                 "\"position_embedding_type\" must be \"absolute\", got \"relative_key\"");
  expect_refused("gpt2", "\"scale_attn_weights\": true", "\"scale_attn_weights\": false", ErrorKind::config,
                 "\"scale_attn_weights\" must be true, got false");
  expect_refused("bert_masked", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false", ErrorKind::config,
                 "\"tie_word_embeddings\" must be true, got false");
  expect_refused("vit", "\"pooler_act\": \"tanh\"", "\"pooler_act\": \"relu\"", ErrorKind::config,
                 "\"pooler_act\" must be \"tanh\", got \"relu\"");
  expect_refused("vit", "\"pooler_output_size\": 8", "\"pooler_output_size\": 7", ErrorKind::config,
                 "\"pooler_output_size\" must be 8, the hidden_size, got 7");
  expect_refused("vit", "\"patch_size\": 2", "\"patch_size\": 0", ErrorKind::config,
                 "\"patch_size\" must be a positive number, or two, got 0");
  expect_refused("bert_classifier", "\"is_decoder\": false", "\"problem_type\": \"ranking\"", ErrorKind::config,
                 "\"problem_type\" must be one of regression, single_label_classification, multi_label_classification, "
                 "got \"ranking\"");
}

TEST_F(HuggingFaceFolder, RefusesValuesOfTheWrongType) {
  expect_refused("bert", "\"hidden_size\": 8", "\"hidden_size\": 8.5", ErrorKind::config,
                 "\"hidden_size\" must be an integer, got 8.5");
  expect_refused("bert", "\"hidden_size\": 8", "\"hidden_size\": \"8\"", ErrorKind::config,
                 "\"hidden_size\" must be an integer, got \"8\"");
  expect_refused("gpt2", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": 1", ErrorKind::config,
                 "\"tie_word_embeddings\" must be true or false, got 1");
  expect_refused("bert_classifier", "\"1\": \"plain\"", "\"7\": \"plain\"", ErrorKind::config,
                 "\"id2label\" must be names for 0, 1, 2, ..., got {\"0\":\"sad\",\"7\":\"plain\",\"2\":\"glad\"}");
  expect_refused("marian", "\"vocab_size\": 13", "\"vocab_size\": 13, \"vocab_size\": 14", ErrorKind::format,
                 "duplicate key \"vocab_size\"");
}

TEST_F(HuggingFaceFolder, AllocatesNothingForSizesTheFileDoesNotHave) {
  expect_refused("bert", "\"vocab_size\": 13", "\"vocab_size\": 4611686018427387904", ErrorKind::shape,
                 "shape: the number of elements of [4611686018427387904, 8] overflows");
  take("bert");
  replace("config.json", "\"vocab_size\": 13", "\"vocab_size\": 1099511627776");
  expect_unfit(
      "\n  shape: \"embeddings.word_embeddings.weight\" is [13, 8], but config.json requires [1099511627776, 8]");
  expect_refused("bert", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 4611686018427387904", ErrorKind::format,
                 fmt::format("4611686018427387904 layers, but {} has 39 tensors", path("model.safetensors")));
  expect_refused("marian", "\"max_position_embeddings\": 11", "\"max_position_embeddings\": 99999999999",
                 ErrorKind::config, "99999999999 positions are more than the limit 32768");
  expect_refused("gpt2", "\"n_head\": 2", "\"n_head\": 0", ErrorKind::config, "Gpt: heads must be at least 1, got 0");
  take("gpt2");
  replace("config.json", "\"n_embd\": 8", "\"n_embd\": -8");
  EXPECT_THROW(load_model(folder_.path()), Error);
}

TEST_F(HuggingFaceFolder, ListsEveryMismatchedTensor) {
  take("gpt2");
  change_tensors([](auto& tensors) {
    tensors.erase("transformer.h.1.ln_2.bias");
    tensors["transformer.h.0.attn.c_attn.weight"] = zeros({24, 8});
    tensors["transformer.h.0.mlp.c_fc.bias"] = zeros({12}, i64);
    tensors["extra"] = zeros({2});
    tensors["lm_head.weight"] = zeros({13, 8});
  });
  expect_unfit(
      "\n  shape: \"transformer.h.0.attn.c_attn.weight\" is [24, 8], but config.json requires [8, 24]"
      "\n  dtype: \"transformer.h.0.mlp.c_fc.bias\" is i64, but the model requires f32 or f64"
      "\n  missing: \"transformer.h.1.ln_2.bias\" [8]"
      "\n  tied: \"lm_head.weight\" differs from \"transformer.wte.weight\""
      "\n  unexpected: \"extra\" [2]");
}

TEST_F(HuggingFaceFolder, ReadsFilesOfOlderVersions) {
  take("gpt2");
  change_tensors([](auto& tensors) {  // names of the base model, masks, and a second copy of a tied table
    std::map<std::string, Tensor> bare;
    for (const auto& [name, tensor] : tensors) bare[name.substr(std::string("transformer.").size())] = tensor;
    bare["h.0.attn.bias"] = ones({1, 1, 11, 11}, boolean);
    bare["lm_head.weight"] = bare.at("wte.weight");
    tensors = bare;
  });
  EXPECT_EQ(load<Gpt>(folder_.path())->config().layers, 2);
  take("bert_masked");
  change_tensors([](auto& tensors) {
    std::map<std::string, Tensor> old;
    for (const auto& [key, tensor] : tensors) {
      std::string name = key;
      if (name.ends_with("LayerNorm.weight")) name = fmt::format("{}gamma", name.substr(0, name.size() - 6));
      if (name.ends_with("LayerNorm.bias")) name = fmt::format("{}beta", name.substr(0, name.size() - 4));
      old[name] = tensor;
    }
    old["bert.embeddings.position_ids"] = arange(11);
    old["cls.seq_relationship.weight"] = zeros({2, 8});
    old["bert.pooler.dense.bias"] = zeros({8});
    tensors = old;
  });
  const auto model = load<MaskedLanguageModel>(folder_.path());
  EXPECT_NE((*model->base->embeddings->norm)->weight[0].item(), 1) << "read from gamma";
  take("bert");
  change_tensors([](auto& tensors) {
    tensors.erase("pooler.dense.weight");
    tensors.erase("pooler.dense.bias");
  });
  EXPECT_FALSE(load<Bert>(folder_.path())->pooler);
}

TEST_F(HuggingFaceFolder, ReportsThatPicklesAreNotLoaded) {
  take("gpt2");
  fs::rename(path("model.safetensors"), path("pytorch_model.bin"));
  EXPECT_TAPE_ERROR(
      load_model(folder_.path()), ErrorKind::io,
      fmt::format("{}: does not exist; pytorch_model.bin is a pickle, which can run code, and is not loaded",
                  path("model.safetensors")));
  fs::remove(path("pytorch_model.bin"));
  EXPECT_TAPE_ERROR(load_model(folder_.path()), ErrorKind::io,
                    fmt::format("{}: cannot open: No such file or directory", path("model.safetensors")));
}

TEST_F(HuggingFaceFolder, FollowsLinksIntoACacheOfBlobsAndNoOthers) {
  take("half_in_shards");
  const TemporaryFolder cache;
  const std::string snapshot = cache / "models--a--b/snapshots/0123";
  fs::create_directories(snapshot);
  fs::create_directories(cache / "models--a--b/blobs");
  int number = 0;
  for (const std::string& name : entries_of(folder_.path())) {
    const std::string blob = fmt::format("blob{}", number++);
    fs::copy(path(name), cache / ("models--a--b/blobs/" + blob));
    fs::create_symlink("../../blobs/" + blob, snapshot + "/" + name);
  }
  EXPECT_NO_THROW(load_model(snapshot));
  for (const std::string& name : entries_of(folder_.path())) {
    if (!name.starts_with("config") && !name.starts_with("model")) continue;
    const TemporaryFolder plain;
    for (const std::string& other : entries_of(folder_.path()))
      if (other != name) fs::copy(path(other), plain / other);
    fs::create_symlink(path(name), plain / name);
    EXPECT_TAPE_ERROR(load_model(plain.path()), ErrorKind::format,
                      plain / name + ": is a link that leaves the folder; copy the file there");
  }
}

TEST_F(HuggingFaceFolder, ReadsManyLabelsInAlmostLinearTime) {
  const auto config = [](size_t count) {
    std::string labels;
    for (size_t i = 0; i < count; ++i) labels += fmt::format("{}\"{}\": \"a\"", i == 0 ? "" : ", ", count - 1 - i);
    return fmt::format("{{\"id2label\": {{{}}}}}", labels);
  };
  const std::string small = config(5000), large = config(20'000);
  expect_almost_linear(5000, [&](size_t count) {
    EXPECT_EQ(ConfigReader(count == 5000 ? small : large, "config.json").names("id2label").size(), count);
  });
}

TEST_F(HuggingFaceFolder, ChecksTheIndexOfShards) {
  const std::string index = "model.safetensors.index.json";
  const std::string first = "\"bert.embeddings.LayerNorm.bias\": \"model-00001-of-00002.safetensors\"";
  const auto refused = [&](const std::string& to, const std::string& sentence) {
    expect_refused("half_in_shards", first, to, ErrorKind::format, sentence, index);
  };
  refused("\"bert.embeddings.LayerNorm.bias\": \"../model-00001-of-00002.safetensors\"",
          "\"bert.embeddings.LayerNorm.bias\": path \"../model-00001-of-00002.safetensors\" leaves the folder");
  refused("\"bert.embeddings.LayerNorm.bias\": 5", "\"bert.embeddings.LayerNorm.bias\": the file is not a string");
  refused("\"bert.embeddings.LayerNorm.bias\": \"model-00002-of-00002.safetensors\"",
          "\"bert.embeddings.LayerNorm.bias\" is missing, but present in model-00001-of-00002.safetensors");
  refused(fmt::format("\"other\": \"model-00001-of-00002.safetensors\", {}", first),
          "\"other\" is not in model-00001-of-00002.safetensors");
  refused(fmt::format("{0}, {0}", first), "duplicate key \"bert.embeddings.LayerNorm.bias\"");
  expect_refused("half_in_shards", "weight_map", "map", ErrorKind::format, "\"weight_map\" is not an object", index);
  take("half_in_shards");
  fs::remove(path("model-00002-of-00002.safetensors"));
  EXPECT_TAPE_ERROR(
      load_model(folder_.path()), ErrorKind::io,
      fmt::format("{}: cannot open: No such file or directory", path("model-00002-of-00002.safetensors")));
}

TEST_F(HuggingFaceFolder, FollowsALinkToAShardOnlyInsideItsFolder) {
  const std::string shard = "model-00002-of-00002.safetensors";
  take("half_in_shards");
  fs::rename(path(shard), path("elsewhere"));
  fs::create_symlink("elsewhere", path(shard));
  EXPECT_NO_THROW(load_model(folder_.path()));
  const TemporaryFolder outside;
  fs::rename(path("elsewhere"), outside.path() + "/elsewhere");
  fs::remove(path(shard));
  fs::create_symlink(outside.path() + "/elsewhere", path(shard));
  try {
    load_model(folder_.path());
    FAIL() << "a link out of the folder was followed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_THAT(error.what(), testing::HasSubstr(shard + ": is a link that leaves the folder; copy the file there"));
  }
}

TEST_F(HuggingFaceFolder, RefusesToWriteModelsUnknownToTransformers) {
  BertConfig small{.vocab = 5, .d_model = 4, .layers = 1, .heads = 2, .d_ff = 4, .max_length = 3};
  small.segments = 0;
  EXPECT_TAPE_ERROR(save(folder_.path(), Bert(small)), ErrorKind::config,
                    "config.json: BertModel needs segments, got 0");
  const Gpt probabilities(
      {.vocab = 5, .d_model = 4, .layers = 1, .heads = 2, .output = nn::TokenOutput::probabilities});
  EXPECT_TAPE_ERROR(save(folder_.path(), probabilities), ErrorKind::config,
                    "config.json: GPT2LMHeadModel returns logits, not probabilities");
  EXPECT_TAPE_ERROR(
      save(folder_.path(), Bert({.vocab = 5, .d_model = 4, .layers = 1, .heads = 2}), {.max_shard_bytes = 0}),
      ErrorKind::config, "save: max_shard_bytes must be at least 1, got 0");
}

// transformers has no such class, so the folder's names must not make it load another model.
TEST_F(HuggingFaceFolder, PreservesAClassifierThatPoolsTheMean) {
  manual_seed(3);
  const BertConfig small{.vocab = 5, .d_model = 4, .layers = 1, .heads = 2, .d_ff = 4, .max_length = 3};
  SequenceClassifier model({.encoder = small, .num_labels = 2, .pooling = nn::Pooling::mean, .labels = {"no", "yes"}});
  model.eval();
  save(folder_.path(), model);
  const std::string config = read_text(path("config.json"));
  EXPECT_THAT(config, testing::HasSubstr("\"model_type\": \"tapeformer-mean-pooling-classifier\""));
  EXPECT_THAT(config, testing::Not(testing::HasSubstr("BertForSequenceClassification")));
  const auto again = load<SequenceClassifier>(folder_.path());
  EXPECT_EQ(again->config().pooling, nn::Pooling::mean);
  EXPECT_EQ(again->config().labels, model.config().labels);
  const Tensor ids = tensor({{1, 2, 4}, {3, 1, 0}}, i64);
  EXPECT_TRUE(tensors_equal((*again)(ids), model(ids)));
}

TEST_F(HuggingFaceFolder, PreservesLabelsAndDropouts) {
  const SequenceClassifier model({.encoder = BertConfig{.vocab = 5,
                                                        .d_model = 4,
                                                        .layers = 1,
                                                        .heads = 2,
                                                        .d_ff = 4,
                                                        .max_length = 3,
                                                        .dropout = 0.2,
                                                        .attention_dropout = 0.3,
                                                        .padding_id = 4,
                                                        .init_std = 0.5},
                                  .num_labels = 2,
                                  .dropout = 0.4,
                                  .labels = {"no", "yes"}});
  save(folder_.path(), model);
  const SequenceClassifierConfig read = load<SequenceClassifier>(folder_.path())->config();
  const auto& bert = std::get<BertConfig>(read.encoder);
  EXPECT_THAT(read.labels, testing::ElementsAre("no", "yes"));
  EXPECT_EQ(read.dropout, 0.4);
  EXPECT_EQ(bert.dropout, 0.2);
  EXPECT_EQ(bert.attention_dropout, 0.3);
  EXPECT_EQ(bert.padding_id, 4);
  EXPECT_EQ(bert.init_std, 0.5);
}

}  // namespace
}  // namespace tape::models
