#include "train/init/decoder_model.h"

#include <fmt/format.h>

#include "autograd/random.h"
#include "base/file.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape::train {
namespace {

DecoderSizes tiny(DecoderKind kind) {
  return {.kind = kind, .vocab = 11, .width = 16, .layers = 2, .heads = 2, .context = 8, .bos_id = 1, .eos_id = 2};
}

TEST(DecoderModel, HasTheRequestedSizesAndItsParameterCount) {
  const TemporaryFolder folder;
  const std::map<DecoderKind, std::string> classes{{DecoderKind::gpt2, "GPT2LMHeadModel"},
                                                   {DecoderKind::llama, "LlamaForCausalLM"},
                                                   {DecoderKind::qwen3, "Qwen3ForCausalLM"},
                                                   {DecoderKind::gpt_neox, "GPTNeoXForCausalLM"}};
  ASSERT_EQ(classes.size(), kDecoderKinds.size());
  for (const auto& [name, kind] : kDecoderKinds) {
    EXPECT_EQ(to_string(kind), name);
    const auto model = make_decoder(tiny(kind));
    EXPECT_EQ(parameter_count(tiny(kind)), static_cast<double>(model->parameter_count())) << name;
    EXPECT_EQ(model->options().bos_id, 1);
    EXPECT_EQ(model->options().eos_ids, std::vector<int64_t>{2});
    models::save(folder.path(), *model);
    const std::string config = read_text(folder / "config.json");
    EXPECT_NE(config.find(fmt::format("\"{}\"", classes.at(kind))), std::string::npos) << config;
    EXPECT_NE(config.find(fmt::format("\"model_type\": \"{}\"", name)), std::string::npos) << config;
    EXPECT_EQ(models::load<models::CausalLM>(folder.path())->parameter_count(), model->parameter_count());
  }
}

TEST(DecoderModel, SupportsKvHeadsAndWindowsForSomeKinds) {
  DecoderSizes sizes = tiny(DecoderKind::qwen3);
  sizes.kv_heads = 1;
  sizes.window = 3;
  const auto model = make_decoder(sizes);
  const auto& config = dynamic_cast<const models::Llama&>(*model).config();
  EXPECT_EQ(config.kv_heads, 1);
  EXPECT_EQ(config.window, 3);
  EXPECT_EQ(config.d_ff, 48) << "8 / 3 of 16, rounded up to a multiple of 8";
  for (const DecoderKind kind : {DecoderKind::gpt2, DecoderKind::gpt_neox}) {
    sizes = tiny(kind);
    sizes.kv_heads = 1;
    EXPECT_TAPE_ERROR(make_decoder(sizes), ErrorKind::config,
                      fmt::format("train lm: kv_heads requires llama or qwen3, got {}", to_string(kind)));
  }
  for (const DecoderKind kind : {DecoderKind::gpt2, DecoderKind::gpt_neox, DecoderKind::llama}) {
    sizes = tiny(kind);
    sizes.window = 4;
    EXPECT_TAPE_ERROR(make_decoder(sizes), ErrorKind::config,
                      fmt::format("train lm: window requires qwen3, got {}", to_string(kind)));
  }
}

}  // namespace
}  // namespace tape::train
