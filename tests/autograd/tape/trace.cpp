#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/tape/tape.h"

// Outside the library's namespace, like user code.
namespace somebody {

using tape::ModuleScope;
using tape::Tensor;
using tape::Trace;

std::string source_of(const Tensor& tensor) { return tensor.impl().node->trace->source(); }

Tensor leaf() { return tape::ones({2}).requires_grad_(); }

struct Layer {
  int line = 0;
  Tensor forward(const Tensor& x) {
    line = __LINE__ + 1;
    return tape::exp(x);
  }
};

TEST(Trace, IsOffByDefault) {
  EXPECT_FALSE(Trace::active());
  EXPECT_EQ(tape::exp(leaf()).impl().node->trace, nullptr);
}

TEST(Trace, NamesTheModulePath) {
  const Trace trace;
  const ModuleScope outer("decoder"), list("layers.2");
  EXPECT_EQ(tape::exp(leaf()).impl().node->trace->module_path, "decoder.layers.2");
}

TEST(Trace, PrefersTheCallerOfAnotherLanguage) {
  const Trace trace;
  tape::set_trace_caller([] { return std::string("layer.py:12"); });
  const Tensor y = tape::exp(leaf());
  tape::set_trace_caller(nullptr);
  EXPECT_EQ(source_of(y), "layer.py:12");
  EXPECT_NE(source_of(tape::exp(leaf())), "layer.py:12");
}

#ifdef TAPE_HAVE_BACKTRACE
#define EXPECT_SOURCE(tensor, line) EXPECT_EQ(source_of(tensor), std::string(__FILE__) + ":" + std::to_string(line))
#else
#define EXPECT_SOURCE(tensor, line) EXPECT_NE(source_of(tensor).find("somebody::"), std::string::npos)
#endif

TEST(Trace, NamesTheCallersLine) {
  const Trace trace;
  const Tensor x = leaf();
  const Tensor y = tape::exp(x);
  EXPECT_SOURCE(y, __LINE__ - 1);
  // An inline operator of the library's headers is attributed to its caller.
  const Tensor z = y * 2 + y;
  EXPECT_SOURCE(z, __LINE__ - 1);
  Layer layer;
  const Tensor w = layer.forward(x);
  EXPECT_SOURCE(w, layer.line);
}

TEST(Trace, RecordsOnceIfNested) {
  const Trace outer;
  const Tensor x = leaf();
  {
    const Trace inner;
    const Tensor y = tape::exp(x);
    EXPECT_SOURCE(y, __LINE__ - 1);
  }
  EXPECT_TRUE(Trace::active());
  EXPECT_NE(tape::exp(x).impl().node->trace, nullptr);
}

TEST(Trace, HasNoSourceWithoutAddresses) { EXPECT_EQ(tape::TraceRecord().source(), ""); }

}  // namespace somebody
