# xtensor before 0.26 gives wrong ranks and writes past its buffers in C++20 (xtensor-stack/xtensor#1970), unless the
# distribution fixed it. autograd/xtensor_guard.h works around it and is harmless elsewhere. Configuration fails if that is
# not enough.
include(CheckCXXSourceRuns)
if(CMAKE_CROSSCOMPILING)
  return()
endif()
get_target_property(CMAKE_REQUIRED_INCLUDES xtensor INTERFACE_INCLUDE_DIRECTORIES)
list(APPEND CMAKE_REQUIRED_INCLUDES ${CMAKE_CURRENT_LIST_DIR}/..)
set(CMAKE_REQUIRED_FLAGS ${CMAKE_CXX20_STANDARD_COMPILE_OPTION})
set(CMAKE_REQUIRED_QUIET ON)
# xtensor_is_right(VARIABLE [line]): whether evaluated expressions keep their rank, with `line` before the includes.
function(xtensor_is_right variable)
  check_cxx_source_runs("
${ARGN}
#include <xtensor/xarray.hpp>
#include <xtensor/xeval.hpp>
int main() {
  const xt::xarray<double> e = xt::ones<double>({2, 3, 4});
  return xt::eval(e + e).dimension() == e.dimension() ? 0 : 1;
}" ${variable})
endfunction()
xtensor_is_right(TAPEFORMER_XTENSOR_IS_RIGHT)
if(NOT TAPEFORMER_XTENSOR_IS_RIGHT)
  xtensor_is_right(TAPEFORMER_GUARDED_XTENSOR_IS_RIGHT "#include \"autograd/xtensor_guard.h\"")
endif()
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_QUIET)
if(TAPEFORMER_XTENSOR_IS_RIGHT)
  message(STATUS "xtensor ${xtensor_VERSION}: right with this compiler")
elseif(TAPEFORMER_GUARDED_XTENSOR_IS_RIGHT)
  message(STATUS "xtensor ${xtensor_VERSION}: needs autograd/xtensor_guard.h with this compiler")
else()
  message(FATAL_ERROR
    "xtensor ${xtensor_VERSION} evaluates expressions to the wrong rank with this compiler, even with "
    "autograd/xtensor_guard.h (or does not compile): use another compiler or another xtensor. The compiler's messages are "
    "in CMakeFiles/CMakeConfigureLog.yaml or CMakeFiles/CMakeError.log. After a change, delete "
    "TAPEFORMER_GUARDED_XTENSOR_IS_RIGHT from CMakeCache.txt.")
endif()
