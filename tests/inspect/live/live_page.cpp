#include "inspect/live/live_page.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <fmt/format.h>

#include "base/file.h"
#include "inspect/experiments/inspected_model.h"
#include "inspect/explorer/explorer_data.h"
#include "inspect/explorer/shared_data.h"
#include "inspect/live/live_engine.h"
#include "inspect/web_page.h"
#include "models/vision/vit.h"
#include "tests/inspect/explorer/explorer_json.h"
#include "tests/inspect/live/number_words_folder.h"
#include "tests/support/errors.h"

namespace tape::inspect {
namespace {

std::string gunzip(const std::vector<unsigned char>& packed) {
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  std::string bytes(1 << 22, '\0');
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  inflateEnd(&stream);
  bytes.resize(bytes.size() - stream.avail_out);
  return bytes;
}

TEST(Gzip, CanBeUnpackedAndIsTheSameForTheSameBytes) {
  for (const std::string& bytes : {std::string(), std::string("abc"), std::string(100'000, 'x')}) {
    const std::string packed = gzip(bytes);
    EXPECT_EQ(gunzip({packed.begin(), packed.end()}), bytes);
    EXPECT_EQ(gzip(bytes), packed);
  }
}

std::string from_halves(const std::string& halves) {
  std::string bytes(halves.size(), '\0');
  const size_t half = (halves.size() + 1) / 2;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = halves[i % 2 == 0 ? i / 2 : half + i / 2];
  return bytes;
}

TEST(LivePage, AnEngineWithItsFilesMakesThePageAgain) {
  const NumberWordsFolder folder;
  const Json live = live_json(folder.path(), {.text = "drei"}, "the engine");
  EXPECT_EQ(gunzip(from_base64(live["engine"])), "the engine");
  EXPECT_EQ(live["tasks"]["train"], "number_words");
  EXPECT_FALSE(live["files"].contains("target.spm")) << "equals source.spm";
  const TemporaryFolder unpacked;
  for (const auto& [name, bytes] : live["files"].items()) {
    const std::string content = gunzip(from_base64(bytes.get<std::string>()));
    write_file(unpacked.path() + "/" + name, name == "model.safetensors" ? from_halves(content) : content);
  }

  const InspectedModel subject(folder.path(), {.text = "dreizehn", .bf16 = true});
  Json page = share_repeated_data(explorer_data(subject.study(), {.title = subject.title()}));
  LiveEngine engine;
  engine.answer(Json({{"call", "open"}, {"folder", unpacked.path()}}).dump());
  Json again = Json::parse(engine.answer(Json({{"call", "explore"}, {"text", "dreizehn"}}).dump()))["ok"]["data"];
  for (Json* data : {&page, &again})
    for (Json& node : (*data)["tape"]["nodes"]) node.erase("forward_us"), node.erase("backward_us");
  EXPECT_EQ(again, Json::parse(page.dump()));
}

TEST(LivePage, TakesAGzippedEngineAsItIs) {
  const NumberWordsFolder folder;
  const std::string packed = gzip("the engine");
  EXPECT_EQ(live_json(folder.path(), {.text = "drei"}, packed)["engine"],
            live_json(folder.path(), {.text = "drei"}, "the engine")["engine"]);
}

TEST(LivePage, RefusesWhatAPageCannotContain) {
  const TemporaryFolder folder;
  EXPECT_TAPE_ERROR(live_json(folder.path(), {.text = "drei"}, ""), ErrorKind::config,
                    "live: this build has no engine for pages: run scripts/wasm.sh, and build again");
  models::save(folder.path(),
               models::Vit({.image_size = {8}, .patch_size = {4}, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12}));
  EXPECT_TAPE_ERROR(
      live_json(folder.path(), {.text = "drei"}, "e"), ErrorKind::config,
      fmt::format("live: {} contains a Vit, which reads images; a page can only run models that read texts",
                  folder.path()));
  const NumberWordsFolder words;
  EXPECT_TAPE_ERROR(
      live_json(words.path(), {.text = "drei"}, "e", 1000), ErrorKind::config,
      fmt::format("live: the weights of {} take 13.5 KiB in bf16, but a page may contain at most 1000 B: choose a "
                  "smaller model, or write the page without the engine",
                  words.path()));
  write_in_folder(words.path(), "adapter_config.json", "{}");
  EXPECT_TAPE_ERROR(
      live_json(words.path(), {.text = "drei"}, "e"), ErrorKind::config,
      fmt::format("live: {} contains adapters: merge them into their model first (tapeformer merge)", words.path()));
}

TEST(LivePage, MayRunTheEngineInAWorker) {
  const std::string policy = "default-src 'none'; script-src 'sha256-x=' live-script; img-src data:; live-worker\">";
  EXPECT_EQ(with_policy(policy, true),
            "default-src 'none'; script-src 'sha256-x=' 'wasm-unsafe-eval'; img-src data:; worker-src blob:\">");
  EXPECT_EQ(with_policy(policy, false), "default-src 'none'; script-src 'sha256-x='; img-src data:\">");
}

}  // namespace
}  // namespace tape::inspect
