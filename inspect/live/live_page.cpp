#include "inspect/live/live_page.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include <zlib.h>
#include <nlohmann/json.hpp>

#include "autograd/io/safetensors.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/scope.h"
#include "base/file.h"
#include "base/number_text.h"
#include "base/path.h"
#include "inspect/experiments/inspected_model_study.h"
#include "inspect/explorer/shared_data.h"
#include "inspect/explorer/tensor_json.h"
#include "inspect/live/live_training.h"
#include "inspect/web_page.h"
#include "models/folders/weights.h"
#include "text/json.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

/// Files beside the weights that models::load_model() and text::load_tokenizer() read, and *.model and *.spm.
constexpr std::array kFiles{"config.json",
                            "generation_config.json",
                            "tokenizer.json",
                            "tokenizer_config.json",
                            "special_tokens_map.json",
                            "added_tokens.json",
                            "vocab.json",
                            "target_vocab.json",
                            "vocab.txt",
                            "merges.txt"};

bool is_read(const std::string& name) {
  const std::filesystem::path end = std::filesystem::path(name).extension();
  return std::ranges::find(kFiles, name) != kFiles.end() || end == ".model" || end == ".spm";
}

/// model.safetensors with the weights in bf16.
std::string bf16_weights(const std::string& folder, int64_t most) {
  const NoGrad no_grad;
  std::map<std::string, TensorSource> tensors;
  int64_t bytes = 0;
  for (const auto& [name, tensor] : models::read_weights(folder).tensors) {
    const Tensor value = is_floating(tensor.dtype()) ? cast(tensor, bf16) : tensor;
    bytes += value.numel() * size_of(value.dtype());
    tensors[name] = source_of(value);
  }
  if (bytes > most)
    raise(
        ErrorKind::config,
        "live: the weights of {} take {} in bf16, but a page may contain at most {}: choose a smaller model, or write "
        "the page without the engine",
        folder, format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(most)));
  std::string file;
  write_safetensors([&](std::string_view part) { file += part; }, "model.safetensors", tensors);
  return file;
}

/// The bytes at even places, then those at odd ones: the lower halves of bf16 values are random, the upper ones
/// compress.
std::string in_halves(std::string_view bytes) {
  std::string halves;
  halves.reserve(bytes.size());
  for (const size_t first : {size_t{0}, size_t{1}})
    for (size_t i = first; i < bytes.size(); i += 2) halves += bytes[i];
  return halves;
}

/// The task that the page can train the model on: "number_words" or null.
Json training_task(const std::string& folder) {
  const models::AnyModel model = models::load_model(folder);
  const nn::Module& module = models::module_of(model);
  if (is_image_model(model))
    raise(ErrorKind::config, "live: {} contains a {}, which reads images; a page can only run models that read texts",
          folder, module.type_name());
  return LiveTraining::supports(module, *text::load_tokenizer(folder)) ? Json("number_words") : Json(nullptr);
}

}  // namespace

PageOptions with_live_limits(PageOptions options) {
  options.bytes = 300'000;
  options.elements = 32;
  return options;
}

std::string gzip(std::string_view bytes) {
  constexpr int kGzip = 16;  // added to the window: with gzip's header, whose time is 0
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    raise(ErrorKind::out_of_memory, "gzip: out of memory for compression");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> held(&stream, deflateEnd);
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int end = deflate(&stream, Z_FINISH);
  TAPE_ASSERT(end == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  return packed;
}

void write_live_page(const std::string& path, const Json& data, const Json& live) {
  const std::string packed = base64(gzip(dump_json(share_repeated_data(data))));
  write_file(path, web_page("explorer.html", {{"live", live}, {"packed", packed}}));
}

Json live_json(const std::string& folder, const InspectOptions& recorded, std::string_view engine, int64_t most) {
  if (engine.empty())
    raise(ErrorKind::config, "live: this build has no engine for pages: run scripts/wasm.sh, and build again");
  if (folder_has(folder, "adapter_config.json"))
    raise(ErrorKind::config, "live: {} contains adapters: merge them into their model first (tapeformer merge)",
          folder);
  const Json task = training_task(folder);
  Json files = Json::object();
  for (const std::string& name : folder_entries(folder))
    if (is_read(name)) files[name] = base64(gzip(read_text(file_in_folder(folder, name))));
  // The tokenizer takes source.spm instead.
  if (files.contains("target.spm") && files.value("source.spm", "") == files.value("target.spm", ""))
    files.erase("target.spm");
  files["model.safetensors"] = base64(gzip(in_halves(bf16_weights(folder, most))));
  const bool packed = engine.starts_with("\x1f\x8b");
  return {{"engine", base64(packed ? std::string(engine) : gzip(engine))},
          {"files", std::move(files)},
          {"tasks", {{"train", task}}},
          {"text", recorded.text.value_or("")},
          {"target_text", recorded.text_b ? Json(*recorded.text_b) : Json(nullptr)}};
}

}  // namespace tape::inspect
