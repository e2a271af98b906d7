#include "train/memory/machine.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "autograd/kernels/runtime/common/isa.h"
#include "tests/support/errors.h"

namespace tape::train {
namespace {

TEST(Machine, IsDetected) {
  const Machine m = machine();
  EXPECT_THAT(m.version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_NE(m.cpu, "");
  EXPECT_EQ(m.kernels, kernels::to_string(kernels::isa()));
  EXPECT_THAT(m.blas, testing::MatchesRegex("OpenBLAS [0-9.]+[^ ]* \\((openmp|pthread|sequential)\\)"));
  EXPECT_NE(m.blas_core, "");
  EXPECT_GE(m.threads, 1);
  for (const std::string& part : {m.version, m.cpu, m.kernels, m.blas, m.blas_core})
    EXPECT_THAT(to_string(m), testing::HasSubstr(part));
}

TEST(Machine, IsDescribedInOneLine) {
  Machine m{.version = "1.2.3",
            .cpu = "Some CPU",
            .kernels = "v4",
            .blas = "OpenBLAS 0.3.21 (openmp)",
            .blas_core = "Cooperlake",
            .threads = 2};
  EXPECT_EQ(to_string(m),
            "tapeformer 1.2.3, Some CPU, kernels v4, OpenBLAS 0.3.21 (openmp) core Cooperlake, 2 threads");
  m.blas_core_overridden = true;
  m.threads = 1;
  EXPECT_EQ(to_string(m),
            "tapeformer 1.2.3, Some CPU, kernels v4, OpenBLAS 0.3.21 (openmp) core Cooperlake (by OPENBLAS_CORETYPE), "
            "1 thread");
}

TEST(Machine, UsesTheRequestedNumberOfThreads) {
  const int before = machine().threads;
  for (const int threads : {1, 2}) {
    set_threads(threads);
    EXPECT_EQ(machine().threads, threads);
  }
  for (const int threads : {0, -3})
    EXPECT_TAPE_ERROR(set_threads(threads), ErrorKind::config,
                      fmt::format("threads: must be at least 1, got {}", threads));
  EXPECT_EQ(machine().threads, 2) << "an invalid count changes nothing";
  set_threads(before);
}

}  // namespace
}  // namespace tape::train
