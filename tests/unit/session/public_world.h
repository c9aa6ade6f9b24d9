// A context and a client made with the public headers alone. Programs run with only the keys that
// their plans list.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "latticino/latticino.h"

namespace latticino {

// The device that LATTICINO_TEST_DEVICE names, with one thread; warnings are kept.
struct PublicWorld {
  explicit PublicWorld(const std::string& preset, bool auto_bootstrap = false)
      : context(preset, options(auto_bootstrap)), client(context) {}
  static PublicWorld& of(const std::string& preset) {
    static std::map<std::string, std::unique_ptr<PublicWorld>> worlds;
    auto& world = worlds[preset];
    if (world == nullptr) world = std::make_unique<PublicWorld>(preset);
    return *world;
  }
  ContextOptions options(bool auto_bootstrap) {
    ContextOptions out;
    const char* device = std::getenv("LATTICINO_TEST_DEVICE");
    out.device = device == nullptr ? "cpu" : device;
    out.threads = out.device == "cpu" ? 1 : 0;
    out.auto_bootstrap = auto_bootstrap;
    out.on_warning = [this](const Warning& w) { warnings.push_back(w); };
    return out;
  }

  std::vector<Warning> warnings;
  Context context;
  Client client;
};

// Numbers from -1 to 1 without a pattern.
inline std::vector<double> numbers(std::size_t count, unsigned seed = 1) {
  std::vector<double> out;
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<double>(state >> 11) * 0x1p-52 - 1);
  }
  return out;
}

inline double largest_error(const std::vector<Complex>& have, const std::vector<Complex>& want) {
  EXPECT_EQ(have.size(), want.size());
  double worst = 0;
  for (std::size_t i = 0; i < std::min(have.size(), want.size()); ++i) {
    worst = std::max(worst, std::abs(have[i] - want[i]));
  }
  return worst;
}

// Plans the program for fresh encryptions of x, makes the keys of the plan and no others, runs it,
// and compares levels, bits and values with the plan and with the plain computation. Returns the
// largest error.
template <class Program>
double run_planned(PublicWorld& world, Program program, const std::vector<Values>& x,
                   const std::vector<Complex>& want, const EncryptOptions& options = {}) {
  std::vector<Array> inputs;
  for (const Values& values : x) inputs.push_back(world.client.encrypt(values, options));
  const auto call = [&](std::span<const Array> in) -> Array {
    if constexpr (std::is_invocable_v<Program, const Array&>) {
      return program(in[0]);
    } else {
      return program(in[0], in[1]);
    }
  };
  const Plan planned = [&] {
    if constexpr (std::is_invocable_v<Program, const Array&>) {
      return plan(world.context, program, inputs[0]);
    } else {
      return plan(world.context, program, inputs[0], inputs[1]);
    }
  }();
  const ServerKeys keys = world.client.server_keys(planned);
  EXPECT_EQ(keys.count(), planned.keys().size());
  EXPECT_TRUE(planned.missing(keys).empty());
  world.context.use(keys);
  const Array result = call(inputs);
  EXPECT_EQ(result.level(), planned.levels()[0]);
  // What samples show is drawn anew each time.
  const double apart = result.bits().claim == Claim::Calibrated ? 1.5 : 1e-6;
  EXPECT_NEAR(result.bits().mean, planned.bits()[0].mean, apart);
  const double error = largest_error(world.client.decrypt(result), want);
  // Errors of these sizes are expected; four bits more would be a wrong claim.
  EXPECT_LT(error, std::exp2(-result.bits().worst + 4)) << result;
  return error;
}

}  // namespace latticino
