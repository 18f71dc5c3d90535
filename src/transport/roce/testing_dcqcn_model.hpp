#pragma once
// Where theory puts the queue of long DCQCN flows that share a port; for tests of the transport and of the simulator.

#include <algorithm>
#include <cmath>

namespace weft::transport {

// The fixed point of the fluid model (Zhu et al., "ECN or Delay", CoNEXT 2016: its equations for DCQCN with
// all flows at C / N). Rates in packets per second, B in packets; p by halving: what a flow gains falls with p, and
// what it loses grows.
struct FluidModel {
  double line;  // packets/s
  double flows;
  double step;                 // R_AI, packets/s
  double bytes;                // B, packets
  double timer = 55e-6;        // T, s
  double cnp = 50e-6;          // tau, s
  double alpha_timer = 55e-6;  // tau', s
  double recovery = 5;         // F

  double gain(double p) const {
    const double rate = line / flows;
    const auto some_of = [&](double packets) { return 1 - std::pow(1 - p, packets); };
    const auto per_packet = [&](double packets) { return p / (std::pow(1 - p, -packets) - 1); };
    const double cut = some_of(cnp * rate);  // probability of a CNP in tau
    const double alpha = some_of(alpha_timer * rate);
    const double by_bytes = per_packet(bytes);
    const double by_timer = per_packet(timer * rate);
    const double growth =
        step * rate *
        (std::pow(1 - p, recovery * bytes) * by_bytes + std::pow(1 - p, recovery * timer * rate) * by_timer);
    const double above = cnp * growth / cut;  // target - rate, from the target's balance
    return above / 2 * rate * (by_bytes + by_timer) - rate * alpha / (2 * cnp) * cut;
  }
};

// The same without the model's one liberty: there a CNP may follow another at once, here only after 50 us. Few do, but
// they are the ones that cost, for a rate that has had ten timers to recover is back where it was. From cut to cut
// a flow has n = X / T timer events, where X is 50 us and an exponential wait for the next mark; its rate
// shall be the same at the end.
struct CycleModel : FluidModel {
  double gain(double p) const {
    constexpr double g = 1.0 / 256;
    const double rate = line / flows;
    const auto beyond = [&](double x) { return std::exp(-p * rate * std::max(0.0, x - cnp)); };
    const auto likely = [&](int n) { return beyond(n * timer) - beyond((n + 1) * timer); };
    double decay = 0;
    for (int n = 0; n < 1000; ++n) decay += likely(n) * std::pow(1 - g, n);
    const double alpha = decay * g / (1 - decay * (1 - g));
    double sum = 0;
    double now = rate * (1 - alpha / 2);
    double target = rate;
    for (int n = 0; n < 1000; ++n) {
      if (n >= recovery) target += step;
      if (n > 0) now = (now + target) / 2;
      sum += likely(n) * (now - rate);
    }
    return sum;
  }
};

inline double balance(const auto& model) {
  double low = 1e-6;
  double high = 0.9;
  for (int i = 0; i < 60; ++i) {
    const double middle = std::sqrt(low * high);
    (model.gain(middle) > 0 ? low : high) = middle;
  }
  return low;
}

}  // namespace weft::transport
