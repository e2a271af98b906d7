// Multi-head attention with one module per head.
#include "separate_heads.h"

#include "demonstrate.h"

int main() {
  tape::manual_seed(1);
  SeparateHeads layer(8, 2);
  return demonstrate(layer) ? 0 : 1;
}
