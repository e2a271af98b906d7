#pragma once

// Every component that was built; each has a header of its own. Only the xtensor bridge is not included
// (autograd/xtensor.h).
#include "core.h"
#if __has_include("linalg.h")
#include "linalg.h"
#endif
#if __has_include("text.h")
#include "text.h"
#endif
#if __has_include("models.h")
#include "models.h"
#endif
#if __has_include("train.h")
#include "train.h"
#endif
#if __has_include("inspect.h")
#include "inspect.h"
#endif
