// All headers of the library: the bridge to xtensor, before xtensor's own headers, then everything else.
#include <tapeformer/autograd/xtensor.h>

#include <tapeformer.h>

tape::Tensor doubled(const tape::Tensor& x) { return x * 2; }
