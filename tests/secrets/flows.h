// The operations of clients that use secrets, each by itself and without other code.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace latticino::secrets {

struct Flow {
  std::string name;
  std::function<void()> run;
};

// On the plain kernels, or on the fastest that this machine has. `all` adds larger sets.
std::vector<Flow> flows(bool simd, bool all);

}  // namespace latticino::secrets
