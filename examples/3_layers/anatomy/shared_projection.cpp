// Multi-head attention whose heads share one small projection each for queries, keys and values.
#include "shared_projection.h"

#include "demonstrate.h"

int main() {
  tape::manual_seed(1);
  SharedProjection layer(8, 2);
  return demonstrate(layer) ? 0 : 1;
}
