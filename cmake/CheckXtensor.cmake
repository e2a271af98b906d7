# xtensor before 0.26 gives wrong ranks and writes past its buffers when g++ compiles it as C++20
# (xtensor-stack/xtensor#1970); autograd/xtensor_guard.h mends it. The build stops where that is not enough.
include(CheckCXXSourceRuns)
if(CMAKE_CROSSCOMPILING)
  return()
endif()
get_target_property(CMAKE_REQUIRED_INCLUDES xtensor INTERFACE_INCLUDE_DIRECTORIES)
list(APPEND CMAKE_REQUIRED_INCLUDES ${CMAKE_CURRENT_LIST_DIR}/..)
set(CMAKE_REQUIRED_FLAGS ${CMAKE_CXX20_STANDARD_COMPILE_OPTION})
set(CMAKE_REQUIRED_QUIET ON)
check_cxx_source_runs("
#include \"autograd/xtensor_guard.h\"
#include <xtensor/xarray.hpp>
#include <xtensor/xeval.hpp>
int main() {
  const xt::xarray<double> e = xt::ones<double>({2, 3, 4});
  return xt::eval(e + e).dimension() == e.dimension() ? 0 : 1;
}" TAPEFORMER_XTENSOR_IS_RIGHT)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_QUIET)
if(NOT TAPEFORMER_XTENSOR_IS_RIGHT)
  message(FATAL_ERROR
    "xtensor ${xtensor_VERSION} evaluates expressions to the wrong rank with this compiler (or does not compile): "
    "use xtensor 0.26 or later, or another compiler. See CMakeFiles/CMakeError.log. "
    "After a change, delete TAPEFORMER_XTENSOR_IS_RIGHT from CMakeCache.txt.")
endif()
