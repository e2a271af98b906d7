#include "autograd/cuda/algorithm_file.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"

namespace tape::cuda_device {
namespace {

constexpr size_t kDigits = 16;  // of a word of an algorithm
constexpr size_t kHexDigits = kDigits * std::size(BlasAlgorithm{}.data);

/// The user's folder for caches, or "" if the environment has none.
std::string cache_folder() {
  const char* const chosen = std::getenv("XDG_CACHE_HOME");
  if (chosen && *chosen == '/') return chosen;  // other paths are to be ignored, by the XDG specification
  const char* const home = std::getenv("HOME");
  return home && *home ? join_path(home, ".cache") : "";
}

/// "nvidia-h100-80gb-hbm3".
std::string name_in_path(std::string_view gpu) {
  std::string name;
  for (const char c : gpu) {
    if (c >= 'A' && c <= 'Z')
      name += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  return name;
}

std::optional<BlasAlgorithm> parse_algorithm(std::string_view hex) {
  BlasAlgorithm algorithm = {};
  for (uint64_t& word : algorithm.data) {
    const auto [end, failed] = std::from_chars(hex.data(), hex.data() + kDigits, word, 16);
    if (failed != std::errc() || end != hex.data() + kDigits) return std::nullopt;
    hex.remove_prefix(kDigits);
  }
  return algorithm;
}

}  // namespace

AlgorithmFile::AlgorithmFile(std::string_view gpu, int64_t version)
    : title_(fmt::format("# Algorithms of cuBLASLt {} chosen on {}. Without this file they are measured again.\n",
                         version, gpu)) {
  const std::string caches = cache_folder();
  if (caches.empty()) return;
  folder_ = join_path(caches, "tapeformer");
  path_ = join_path(folder_, fmt::format("cublaslt-{}-{}.txt", name_in_path(gpu), version));
}

void AlgorithmFile::read_line(std::string_view line) {
  if (line.size() < kHexDigits + 2 || line.front() == '#') return;
  const size_t product = line.size() - kHexDigits - 1;
  const auto algorithm = parse_algorithm(line.substr(product + 1));
  if (line[product] != ' ' || !algorithm) return;
  Decision& decision = decisions_[std::string(line.substr(0, product))];
  // A later line replaces an algorithm that was refused.
  if (!decision.used) decision.algorithm = *algorithm;
}

void AlgorithmFile::read_new_lines() {
  if (path_.empty()) return;
  try {
    const InputFile file(path_);
    bytes_ = std::max(bytes_, file.size());
    const int64_t count = std::min(file.size(), kMostBytes) - read_;
    if (count <= 0) return;
    std::string text(static_cast<size_t>(count), '\0');
    file.read(read_, text.data(), count);
    const size_t complete = text.rfind('\n') + 1;  // 0 if there is none
    ends_line_ = complete == text.size();
    read_ += static_cast<int64_t>(complete);
    for (size_t begin = 0; begin < complete;) {
      const size_t end = text.find('\n', begin);
      read_line(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
  } catch (const Error&) {
    // There is no file yet, or none that can be read.
  }
}

std::optional<BlasAlgorithm> AlgorithmFile::find(const std::string& product) {
  auto found = decisions_.find(product);
  if (found == decisions_.end()) {
    read_new_lines();  // of other processes
    found = decisions_.find(product);
  }
  if (found == decisions_.end()) return std::nullopt;
  found->second.used = true;
  return found->second.algorithm;
}

void AlgorithmFile::add(const std::string& product, const BlasAlgorithm& algorithm) {
  decisions_[product] = {algorithm, true};
  std::string line = ends_line_ ? "" : "\n";  // after a line that another process could not end
  if (read_ == 0) line += title_;
  line += product + " ";
  for (const uint64_t word : algorithm.data) line += fmt::format("{:016x}", word);
  line += "\n";
  bytes_ += static_cast<int64_t>(line.size());
  if (path_.empty()) return;
  try {
    make_folder(folder_);
  } catch (const Error&) {
    return;
  }
  std::ofstream(path_, std::ios::app) << line;  // one write, since it fits the stream's buffer
}

}  // namespace tape::cuda_device
