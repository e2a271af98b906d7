#include "train/machine.h"

#include <gmock/gmock.h>

#include "tests/support/errors.h"

namespace tape::train {
namespace {

using kernels::Isa;

TEST(Machine, IsKnown) {
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

TEST(Machine, ReadsAsOneLine) {
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

TEST(Machine, RunsOnTheThreadsItIsGiven) {
  const int before = machine().threads;
  for (const int threads : {1, 2}) {
    set_threads(threads);
    EXPECT_EQ(machine().threads, threads);
  }
  for (const int threads : {0, -3})
    EXPECT_TAPE_ERROR(set_threads(threads), ErrorKind::config,
                      fmt::format("threads: must be at least 1, got {}", threads));
  EXPECT_EQ(machine().threads, 2) << "a refused number changes nothing";
  set_threads(before);
}

TEST(WeakBlas, IsToldWithItsCause) {
  EXPECT_EQ(weak_blas_warning("Haswell", Isa::v4, true),
            "OPENBLAS_CORETYPE makes OpenBLAS use Haswell kernels, below what this CPU can run; unset it for speed");
  EXPECT_EQ(weak_blas_warning("Haswell", Isa::v4, false),
            "OpenBLAS chose Haswell kernels, below what this CPU can run; try OPENBLAS_CORETYPE=SkylakeX");
  EXPECT_EQ(weak_blas_warning("Prescott", Isa::v3, false),
            "OpenBLAS chose Prescott kernels, below what this CPU can run; try OPENBLAS_CORETYPE=Haswell");
}

TEST(WeakBlas, IsNotToldOfKernelsThatFit) {
  for (const bool overridden : {false, true}) {
    for (const char* core : {"SkylakeX", "Cooperlake", "SapphireRapids"})
      for (const Isa cpu : {Isa::v2, Isa::v3, Isa::v4})
        EXPECT_EQ(weak_blas_warning(core, cpu, overridden), std::nullopt) << core;
    for (const char* core : {"Haswell", "Zen", "Excavator"})
      for (const Isa cpu : {Isa::v2, Isa::v3})
        EXPECT_EQ(weak_blas_warning(core, cpu, overridden), std::nullopt) << core;
    EXPECT_EQ(weak_blas_warning("Nehalem", Isa::v2, overridden), std::nullopt);
    EXPECT_EQ(weak_blas_warning("NeoverseN1", Isa::portable, overridden), std::nullopt);
  }
}

TEST(WeakBlas, IsAskedOfThisMachine) {
  const Machine m = machine();
  EXPECT_EQ(weak_blas_warning(), weak_blas_warning(m.blas_core, kernels::supported_isa(), m.blas_core_overridden));
}

}  // namespace
}  // namespace tape::train
