#pragma once

#include "../autograd/distributions.h"
#include "../autograd/tensor.h"

namespace tape::nn {
class Module;
}

/// First values of parameters. Each function writes the values of an f32 or f64 tensor in place, also of one that
/// requires gradients, records nothing, and returns the tensor, so that a parameter can be made in one line:
///
///     nn::Parameter weight{this, "weight", init::xavier_uniform_(empty({out, in}))};
///
/// Random values come from the init stream unless a generator is given; one number is drawn for each element. Error
/// (dtype) for other types, Error (config) for settings out of range.
namespace tape::nn::init {

/// How many inputs each output of a weight sees, and how many outputs each input reaches. For weight [out, in, ...],
/// fan in is in times what follows and fan out is out times what follows (the taps of a convolution); for an embedding
/// [V, C] they are C and V. Error (shape) with fewer than two axes.
struct Fans {
  int64_t in;
  int64_t out;
};
Fans fans(const Shape& shape);

enum class Fan { in, out };
enum class Nonlinearity { linear, sigmoid, tanh, relu, leaky_relu, selu };

/// By how much a weight must be larger so that the variance survives the nonlinearity behind it: 1 for linear and
/// sigmoid, 5/3 for tanh, sqrt(2) for relu, sqrt(2 / (1 + negative_slope^2)) for leaky_relu, 3/4 for selu.
double gain(Nonlinearity nonlinearity, double negative_slope = 0.01);

Tensor constant_(Tensor x, double value);
Tensor zeros_(Tensor x);
Tensor ones_(Tensor x);
/// Uniform in [low, high).
Tensor uniform_(Tensor x, double low = 0, double high = 1, Generator& stream = generator(Stream::init));
Tensor normal_(Tensor x, double mean = 0, double stddev = 1, Generator& stream = generator(Stream::init));

/// tape::truncated_normal (autograd/distributions.h).
Tensor truncated_normal_(Tensor x, const TruncatedNormalOptions& options = {},
                         Generator& stream = generator(Stream::init));

/// Uniform in [-a, a), a = gain sqrt(6 / (fan in + fan out)): Glorot and Bengio 2010, "Understanding the difficulty of
/// training deep feedforward neural networks", equation 16.
Tensor xavier_uniform_(Tensor x, double gain = 1, Generator& stream = generator(Stream::init));
/// Normal with mean 0 and deviation gain sqrt(2 / (fan in + fan out)): the same paper, equation 12.
Tensor xavier_normal_(Tensor x, double gain = 1, Generator& stream = generator(Stream::init));

struct KaimingOptions {
  Fan fan = Fan::in;  ///< in keeps the variance of the values, out that of the gradients
  Nonlinearity nonlinearity = Nonlinearity::relu;
  double negative_slope = 0.01;  ///< of leaky_relu
};
/// Uniform in [-a, a), a = gain sqrt(3 / fan): He et al. 2015, "Delving deep into rectifiers", 2.2.
Tensor kaiming_uniform_(Tensor x, const KaimingOptions& options = {}, Generator& stream = generator(Stream::init));
/// Normal with mean 0 and deviation gain / sqrt(fan): the same paper.
Tensor kaiming_normal_(Tensor x, const KaimingOptions& options = {}, Generator& stream = generator(Stream::init));

/// How BERT and GPT-2 start: every matrix and table of the module normal with mean 0 and the given deviation, padding
/// rows and biases zero; norms stay as they are.
void start_normal(Module& module, double stddev = 0.02);

}  // namespace tape::nn::init
