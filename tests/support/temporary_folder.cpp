#include "tests/support/temporary_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tape {

TemporaryFolder::TemporaryFolder() {
  const bool in_memory = access("/dev/shm", W_OK) == 0;
  path_ = (in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string()) + "/tapeformer.XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tape
