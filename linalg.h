#pragma once

// Component linalg: linear algebra.
#include "autograd/ops/linalg.h"
