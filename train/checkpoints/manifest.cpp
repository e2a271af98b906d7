#include "train/checkpoints/manifest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "text/hash.h"
#include "text/json.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kManifest = "MANIFEST.json";
constexpr int64_t kManifestFormat = 1;
constexpr int64_t kChunk = 1 << 20;

struct Entry {
  std::string name;
  int64_t bytes = 0;
  std::string checksum;
};

std::string hexadecimal(uint64_t value) { return fmt::format("{:016x}", value); }

uint64_t checksum_of(const InputFile& file) {
  Hash hash;
  std::vector<char> chunk(static_cast<size_t>(std::min(kChunk, file.size())));
  for (int64_t at = 0; at < file.size();) {
    const int64_t size = std::min(kChunk, file.size() - at);
    file.read(at, chunk.data(), size);
    hash.add(chunk.data(), static_cast<size_t>(size));
    at += size;
  }
  return hash.value();
}

/// Checks that an object has exactly these keys.
void check_keys(const Json& object, const std::set<std::string>& keys, const std::string& where) {
  if (!object.is_object()) raise(ErrorKind::format, "{}: expected a JSON object", where);
  for (const auto& [key, value] : object.items())
    if (!keys.contains(key)) raise(ErrorKind::format, "{}: unknown key \"{}\"", where, key);
  for (const std::string& key : keys)
    if (!object.contains(key)) raise(ErrorKind::format, "{}: \"{}\" is missing", where, key);
}

Entry read_entry(const Json& item, const std::string& where) {
  check_keys(item, {"name", "bytes", "xxh3_64"}, where);
  if (!item["name"].is_string() || !item["xxh3_64"].is_string() || !item["bytes"].is_number_unsigned())
    raise(ErrorKind::format, "{}: \"name\" and \"xxh3_64\" must be strings, \"bytes\" an integer", where);
  const auto name = item["name"].get<std::string>();
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    raise(ErrorKind::format, "{}: the path \"{}\" is outside of the folder", where, name);
  return {name, item["bytes"].get<int64_t>(), item["xxh3_64"].get<std::string>()};
}

std::vector<Entry> read_manifest(const std::string& text, const std::string& path) {
  const Json manifest = parse_json(text, path);
  check_keys(manifest, {"format", "files"}, path);
  if (manifest["format"] != kManifestFormat)
    raise(ErrorKind::format, "{}: unsupported format {}, this version reads {}", path, manifest["format"].dump(),
          kManifestFormat);
  if (!manifest["files"].is_array()) raise(ErrorKind::format, "{}: \"files\" must be a list", path);
  std::vector<Entry> entries;
  for (const Json& item : manifest["files"])
    entries.push_back(read_entry(item, fmt::format("{}: file {}", path, entries.size())));
  return entries;
}

void check_file(const std::string& path, const Entry& entry) {
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(path, failed);
  if (status.type() == fs::file_type::not_found) raise(ErrorKind::io, "{}: the file is missing", path);
  if (status.type() != fs::file_type::regular) raise(ErrorKind::format, "{}: not a regular file", path);
  const InputFile file(path);
  if (file.size() != entry.bytes)
    raise(ErrorKind::format, "{}: has {} bytes, MANIFEST.json lists {}", path, file.size(), entry.bytes);
  if (const std::string found = hexadecimal(checksum_of(file)); found != entry.checksum)
    raise(ErrorKind::format, "{}: the file was changed or damaged: its XXH3 is {}, MANIFEST.json lists {}", path, found,
          entry.checksum);
}

}  // namespace

uint64_t file_checksum(const std::string& path) { return checksum_of(InputFile(path)); }

void flush_to_disk(const std::string& path) {
  const int opened = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int failed = opened < 0 ? errno : 0;
  if (opened >= 0) {
    // File systems that do not store folders on disk return EINVAL.
    if (fsync(opened) != 0 && errno != EINVAL) failed = errno;
    close(opened);
  }
  if (failed != 0) raise(ErrorKind::io, "{}: cannot flush to disk: {}", path, std::generic_category().message(failed));
}

void write_manifest(const std::string& folder) {
  std::set<std::string> names;
  std::error_code failed;
  for (const std::string& name : folder_entries(folder)) {
    if (!fs::is_regular_file(fs::symlink_status(join_path(folder, name), failed)))
      raise(ErrorKind::config, "{}: a checkpoint may contain only regular files", join_path(folder, name));
    if (name != kManifest) names.insert(name);
  }
  Json files = Json::array();
  for (const std::string& name : names) {
    const std::string path = fmt::format("{}/{}", folder, name);
    flush_to_disk(path);
    const InputFile file(path);
    files.push_back({{"name", name}, {"bytes", file.size()}, {"xxh3_64", hexadecimal(checksum_of(file))}});
  }
  write_file(join_path(folder, kManifest),
             Json{{"format", kManifestFormat}, {"files", std::move(files)}}.dump(2) + "\n");
  flush_to_disk(folder);
}

void VerifiedManifests::check(const std::string& folder, const std::vector<std::string>& needed) {
  const std::string path = fmt::format("{}/{}", folder, kManifest), text = read_text(file_in_folder(folder, kManifest));
  const std::vector<Entry> entries = read_manifest(text, path);
  for (const std::string& name : needed)
    if (std::none_of(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; }))
      raise(ErrorKind::format, "{}: does not list {}", path, name);
  if (const auto known = whole_.find(folder); known != whole_.end() && known->second == text) return;
  for (const Entry& entry : entries) check_file(fmt::format("{}/{}", folder, entry.name), entry);
  whole_[folder] = text;
}

}  // namespace tape::train
