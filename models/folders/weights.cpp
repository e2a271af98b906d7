#include "models/folders/weights.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/io/safetensors.h"
#include "base/check.h"
#include "base/file.h"
#include "base/path.h"
#include "text/json.h"

namespace tape::models {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
/// transformers rejects files without it.
const std::map<std::string, std::string>& metadata() {
  static const auto& all = *new const std::map<std::string, std::string>{{"format", "pt"}};
  return all;
}

/// The tensors of each shard.
std::map<std::string, std::set<std::string>> read_index(const std::string& folder) {
  const std::string where = join_path(folder, kIndex);
  const auto json = parse_large_json(read_text(file_in_folder(folder, kIndex)), where);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) raise(ErrorKind::format, "{}: \"weight_map\" is not an object", where);
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) raise(ErrorKind::format, "{}: \"{}\": the file is not a string", where, tensor);
    const auto name = file.get<std::string>();
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos || name == "..")
      raise(ErrorKind::format, "{}: \"{}\": path \"{}\" leaves the folder", where, tensor, name);
    files[name].insert(tensor);
  }
  return files;
}

Weights read_shards(const std::string& folder) {
  Weights weights{{}, join_path(folder, kIndex)};
  for (const auto& [file, names] : read_index(folder)) {
    auto shard = load_safetensors(file_in_folder(folder, file)).tensors;
    for (const std::string& name : names)
      if (!shard.contains(name)) raise(ErrorKind::format, "{}: \"{}\" is not in {}", weights.where, name, file);
    for (auto& [name, tensor] : shard) {
      if (!names.contains(name))
        raise(ErrorKind::format, "{}: \"{}\" is missing, but present in {}", weights.where, name, file);
      weights.tensors.emplace(name, std::move(tensor));
    }
  }
  return weights;
}

int64_t bytes_of(const Tensor& tensor) { return tensor.numel() * size_of(tensor.dtype()); }

/// Files that replace those of the same names only once all are written: shards of two models would load as one.
class NewFiles {
 public:
  explicit NewFiles(std::string folder) : folder_(std::move(folder)) {}
  ~NewFiles() {
    for (const std::string& name : names_) {
      std::error_code ignored;
      std::filesystem::remove(path_of(name), ignored);
    }
  }
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  /// Where to write a file.
  std::string add(const std::string& name) { return path_of(*names_.insert(name).first); }
  /// Returns the names.
  std::set<std::string> replace() {
    for (const std::string& name : names_) {
      std::error_code failed;
      std::filesystem::rename(path_of(name), join_path(folder_, name), failed);
      if (failed) raise(ErrorKind::io, "{}: cannot rename: {}", path_of(name), failed.message());
    }
    return std::exchange(names_, {});
  }

 private:
  std::string path_of(const std::string& name) const { return join_path(folder_, name + ".new"); }

  std::string folder_;
  std::set<std::string> names_;
};

/// Files that an earlier save may have left: shards and index, or the single file.
void remove_old(const std::string& folder, const std::set<std::string>& keep) {
  if (!is_folder(folder)) return;
  for (const std::string& name : folder_entries(folder)) {
    const bool weights =
        name == kFile || name == kIndex || (name.starts_with("model-") && name.ends_with(".safetensors"));
    if (weights && !keep.contains(name)) remove_path(join_path(folder, name));
  }
}

}  // namespace

void remove_weights(const std::string& folder) { remove_old(folder, {}); }

Weights read_weights(const std::string& folder) {
  const std::string file = file_in_folder(folder, kFile);
  if (!path_exists(file)) {
    if (folder_has(folder, kIndex)) return read_shards(folder);
    if (path_exists(join_path(folder, "pytorch_model.bin")))
      raise(ErrorKind::io, "{}: does not exist; pytorch_model.bin is a pickle, which can run code, and is not loaded",
            file);
  }
  return {load_safetensors(file).tensors, file};
}

std::vector<std::string> weight_files(const std::string& folder) {
  const std::string file = file_in_folder(folder, kFile);
  if (path_exists(file) || !folder_has(folder, kIndex)) return {file};
  std::vector<std::string> files{file_in_folder(folder, kIndex)};
  for (const auto& [shard, tensors] : read_index(folder)) files.push_back(file_in_folder(folder, shard));
  return files;
}

void write_weights(const std::string& folder, const std::map<std::string, Tensor>& tensors, int64_t max_shard_bytes) {
  check_at_least_one("save", {{"max_shard_bytes", max_shard_bytes}});
  std::vector<std::map<std::string, Tensor>> shards(1);
  int64_t filled = 0, total = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t bytes = bytes_of(tensor);
    if (!shards.back().empty() && filled + bytes > max_shard_bytes) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().emplace(name, tensor);
    filled += bytes;
    total += bytes;
  }
  if (shards.size() == 1) {
    save_safetensors(join_path(folder, kFile), shards.front(), metadata());
    remove_old(folder, {kFile});
    return;
  }
  Json map = Json::object();
  NewFiles files(folder);
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    save_safetensors(files.add(name), shards[i], metadata());
    for (const auto& [tensor, value] : shards[i]) map[tensor] = name;
  }
  write_file(files.add(kIndex),
             fmt::format("{}\n", Json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}.dump(2)));
  remove_old(folder, files.replace());
}

}  // namespace tape::models
