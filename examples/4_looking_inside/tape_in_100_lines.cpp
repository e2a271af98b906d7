// The idea of the engine in a hundred lines, without the library: record every operation on a tape, run the tape in
// reverse, and check the gradients. The function is one query of attention over two keys.
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

// --- The tape: one entry per operation, in the order they ran ---

struct Entry {
  std::function<void(double dy)> backward;  // adds dy * (d output / d input) to the gradient of each input
  double gradient = 0;                      // of the loss with respect to this entry's output
};
std::vector<Entry> entries;

// A value and the index of its entry on the tape. Copies share the entry.
struct Variable {
  double value;
  size_t entry;
  double gradient() const { return entries[entry].gradient; }
};

void add_gradient(const Variable& x, double dx) { entries[x.entry].gradient += dx; }

Variable record(double value, std::function<void(double)> backward) {
  entries.push_back({std::move(backward)});
  return {value, entries.size() - 1};
}
Variable variable(double value) {
  return record(value, [](double) {});
}

// --- Operations: compute the value, and record the chain rule for the backward pass ---

Variable operator+(Variable a, Variable b) {
  return record(a.value + b.value, [=](double dy) {
    add_gradient(a, dy);
    add_gradient(b, dy);
  });
}
Variable operator*(Variable a, Variable b) {
  return record(a.value * b.value, [=](double dy) {
    add_gradient(a, dy * b.value);
    add_gradient(b, dy * a.value);
  });
}
Variable operator/(Variable a, Variable b) {
  return record(a.value / b.value, [=](double dy) {
    add_gradient(a, dy / b.value);
    add_gradient(b, -dy * a.value / (b.value * b.value));
  });
}
Variable exp(Variable x) {
  const double y = std::exp(x.value);
  return record(y, [=](double dy) { add_gradient(x, dy * y); });
}

// --- Backward: in reverse order, so every entry runs after all entries that used its output ---

void backward(Variable loss) {
  entries[loss.entry].gradient = 1;
  for (size_t i = entries.size(); i-- > 0;) entries[i].backward(entries[i].gradient);
}

// --- A model: attention of one query over two keys, with scalars only ---

Variable attention(const std::vector<Variable>& in) {
  const Variable query = in[0], key0 = in[1], key1 = in[2], value0 = in[3], value1 = in[4];
  const Variable e0 = exp(query * key0), e1 = exp(query * key1), total = e0 + e1;
  return e0 / total * value0 + e1 / total * value1;
}

double loss_at(const std::vector<double>& point, std::vector<double>* gradients = nullptr) {
  entries.clear();
  std::vector<Variable> inputs;
  for (const double value : point) inputs.push_back(variable(value));
  const Variable y = attention(inputs), loss = y * y;
  if (gradients) {
    backward(loss);
    for (const Variable& x : inputs) gradients->push_back(x.gradient());
  }
  return loss.value;
}

// --- The check: compare each gradient with the slope between two nearby points ---

int main() {
  const char* names[] = {"query", "key 0", "key 1", "value 0", "value 1"};
  std::vector<double> point = {0.5, 1.0, -2.0, 3.0, -1.0}, gradients;
  const double loss = loss_at(point, &gradients);
  std::printf("loss %.6f, %zu entries on the tape\n", loss, entries.size());
  constexpr double h = 1e-6;
  for (size_t i = 0; i < point.size(); ++i) {
    std::vector<double> above = point, below = point;
    above[i] += h, below[i] -= h;
    const double slope = (loss_at(above) - loss_at(below)) / (2 * h);
    std::printf("d loss / d %-8s backward %9.6f   slope %9.6f\n", names[i], gradients[i], slope);
    if (std::abs(slope - gradients[i]) > 1e-6) return 1;
  }
}
