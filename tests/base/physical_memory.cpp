#include "base/physical_memory.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape {
namespace {

/// A folder with proc/ and sys/ in which the process belongs to these groups.
class Machine {
 public:
  explicit Machine(const std::string& groups) { write("proc/self/cgroup", groups); }
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    write_text(path.string(), text);
  }
  /// Sets a limit of a group.
  Machine& with(const std::string& group, const std::string& text) {
    write("sys/fs/cgroup/" + group, text);
    return *this;
  }
  std::optional<int64_t> limit() const { return cgroup_memory_limit(root_.path()); }

 private:
  TemporaryFolder root_;
};

TEST(PhysicalMemory, IsMoreThanAMebibyte) { EXPECT_GT(physical_memory(), 1 << 20); }

TEST(ControlGroupLimit, ReadsVersion2) {
  EXPECT_EQ(Machine("0::/a/b\n").with("a/b/memory.max", "5000\n").limit(), 5000);
  EXPECT_EQ(Machine("0::/a/b\n").with("a/b/memory.max", "max\n").limit(), std::nullopt);
  EXPECT_EQ(Machine("0::/\n").with("memory.max", "5000\n").limit(), 5000);
  EXPECT_EQ(Machine("0::/a\n").with("unified/a/memory.max", "5000\n").limit(), 5000);
}

TEST(ControlGroupLimit, IsTheLeastOfTheGroupAndItsParents) {
  EXPECT_EQ(Machine("0::/a/b/c\n")
                .with("a/b/c/memory.max", "max\n")
                .with("a/b/memory.max", "7\n")
                .with("a/memory.max", "9\n")
                .limit(),
            7);
  EXPECT_EQ(Machine("0::/a/b\n").with("a/b/memory.max", "9\n").with("memory.max", "7\n").limit(), 7);
  EXPECT_EQ(Machine("0::/host/only\n").with("memory.max", "7\n").limit(), 7) << "a container";
}

TEST(ControlGroupLimit, ReadsVersion1) {
  const std::string groups = "5:cpu,cpuacct:/a\n4:memory:/jobs/one\n0::/\n";
  EXPECT_EQ(Machine(groups)
                .with("memory/jobs/one/memory.limit_in_bytes", "5000\n")
                .with("memory/memory.limit_in_bytes", "9223372036854771712\n")
                .limit(),
            5000);
  EXPECT_EQ(Machine("4:hugetlb,memory:/a:b\n").with("memory/a:b/memory.limit_in_bytes", "5\n").limit(), 5);
  EXPECT_EQ(Machine("4:cpu:/a\n").with("memory/a/memory.limit_in_bytes", "5\n").limit(), std::nullopt);
}

TEST(ControlGroupLimit, IsEmptyIfNoLimitIsSet) {
  EXPECT_EQ(Machine("").limit(), std::nullopt);
  EXPECT_EQ(Machine("no groups\n4:memory\n").limit(), std::nullopt);
  EXPECT_EQ(Machine("0::/a\n").with("a/memory.max", "plenty\n").limit(), std::nullopt);
  EXPECT_EQ(cgroup_memory_limit("/nowhere"), std::nullopt);
}

}  // namespace
}  // namespace tape
