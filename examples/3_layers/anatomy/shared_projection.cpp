// Heads that share one small projection for queries, one for keys and one for values.
#include "shared_projection.h"

#include "demonstrate.h"

int main() {
  tape::manual_seed(1);
  SharedProjection layer(8, 2);
  return demonstrate(layer) ? 0 : 1;
}
