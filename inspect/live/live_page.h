#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace tape::inspect {

/// Largest size in bytes of the weights in bf16 that a page may contain.
inline constexpr int64_t kMaxLiveWeights = 20'000'000;
/// Approximate size of the recorded data in a page with the engine; see PageOptions::bytes.
inline constexpr int64_t kLivePageBytes = 700'000;

/// The engine compiled to WebAssembly (scripts/wasm.sh), as it is or gzipped; empty if this build has none.
std::string_view live_engine_wasm();

/// Returns the member "live" of a page's data: the engine, and the files of a model's folder with the weights in bf16,
///
///     {"engine": "...", "files": {"config.json": "...", "model.safetensors": "...", ...}, "tasks": {"train": null}}
///
/// each gzipped, in base64. The page's other data should be that of the model with such weights (InspectOptions::bf16).
///
/// Throws Error (config) if this build has no engine, the weights are too large, or the folder has adapters or a model
/// of images; (io) and (format) for files that cannot be read.
nlohmann::ordered_json live_json(const std::string& folder);
/// The same with the given engine.
nlohmann::ordered_json live_json(const std::string& folder, std::string_view engine);

/// Returns a gzip file of the bytes, the same for the same bytes.
std::string gzip(std::string_view bytes);

}  // namespace tape::inspect
