// A normalization whose scale is computed without the tape, and the report that finds it.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

struct Normalize : nn::Layer<Normalize> {
  Tensor forward(const Tensor& x) {  // [B, C]
    Tensor scale;
    {
      const NoGrad no_grad;
      scale = sqrt(mean(square(x), -1, Dims::keep));  // [B, 1]
    }
    return x / scale;
  }
};

int main() {
  manual_seed(2);
  Normalize layer;
  const GradcheckReport report = gradcheck(layer, {randn({4, 3}, f64)});
  std::cout << report << "\n";
  return report.guilty.empty() && report.unrecorded.size() == 1 ? 0 : 1;
}
