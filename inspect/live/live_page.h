#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "../experiments/inspected_model.h"

#include "../explorer/explorer.h"

namespace tape::inspect {

/// Largest size in bytes of the weights in bf16 that a page may contain.
inline constexpr int64_t kMaxLiveWeights = 20 << 20;
/// Limits the recorded values of a page with the engine, which computes all of them on request, so that the page of the
/// demo's model has less than 4 MB.
PageOptions with_live_limits(PageOptions options);

/// The engine compiled to WebAssembly (scripts/wasm.sh), as it is or gzipped; empty if this build has none.
std::string_view live_engine_wasm();

/// Returns the member "live" of a page's data: the engine, and the files of a model's folder with the weights in bf16,
/// each gzipped, in base64 (of the weights' file the bytes at even places come first), and the recorded texts:
///
///     {"engine": "...", "files": {"config.json": "...", "model.safetensors": "...", ...}, "tasks": {"train": null},
///      "text": "...", "target_text": null}
///
/// without target.spm if it equals source.spm. The page's other data should be that of the model with such weights
/// (InspectOptions::bf16).
///
/// Throws Error (config) if this build has no engine, the weights take more than `most` bytes, or the folder has
/// adapters or a model of images; (io) and (format) for files that cannot be read.
nlohmann::ordered_json live_json(const std::string& folder, const InspectOptions& recorded,
                                 std::string_view engine = live_engine_wasm(), int64_t most = kMaxLiveWeights);

/// Writes the page of data made by explorer_data(), with an engine from live_json(). The data is gzipped, in base64.
void write_live_page(const std::string& path, const nlohmann::ordered_json& data, const nlohmann::ordered_json& live);

/// Returns a gzip file of the bytes, the same for the same bytes.
std::string gzip(std::string_view bytes);

}  // namespace tape::inspect
