#include "models/npz/npz.h"

#include <string_view>
#include <vector>

#include "autograd/io/npy_header.h"
#include "autograd/io/npy_values.h"
#include "base/file.h"
#include "models/npz/zip.h"

namespace tape {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

void save_npz(const std::string& path, const std::map<std::string, Tensor>& tensors, const NpzOptions& options) {
  std::vector<std::string> headers;
  headers.reserve(tensors.size());
  std::vector<ZipContent> contents;
  Tensors hosts;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) raise(ErrorKind::config, "{}: tensor \"{}\" is undefined", path, name);
    headers.push_back(detail::make_npy_header(tensor.dtype(), tensor.shape()));
    contents.push_back(
        {name + std::string(kSuffix), {headers.back(), detail::bytes_of(hosts.emplace_back(tensor.detach().to(cpu)))}});
  }
  write_zip(path, contents, options.compressed);
}

std::map<std::string, Tensor> load_npz(const std::string& path) {
  const InputFile file(path);
  std::map<std::string, Tensor> tensors;
  for (const ZipEntry& entry : read_zip_directory(file)) {
    if (!entry.name.ends_with(kSuffix))
      raise(ErrorKind::format, "{}: entry \"{}\" is not an array (.npy)", path, entry.name);
    const std::string name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    ZipEntryReader reader(file, entry);
    const Tensor tensor = detail::read_npy(path + ": \"" + name + "\"",
                                           {reader.size(), [&](void* to, int64_t bytes) { reader.read(to, bytes); }});
    reader.finish();
    tensors.emplace(name, tensor);
  }
  return tensors;
}

}  // namespace tape
