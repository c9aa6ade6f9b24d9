// What the parts of make_params share. Internal to src/params/own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "params/chain/bitpacker.h"
#include "params/chain/prime_chain.h"
#include "params/own/request.h"

namespace latticino::own {

constexpr int kStcLevels = 3;  // levels of SlotToCoeff, as in BootstrapLiteral

// A request whose fields are in range.
struct Schedule {
  int log_n = 16;
  double word = 31;
  std::vector<double> scales;  // log2 of the scale, by level
  bool bootstrapping = false;
  bool uniform() const;
  double base_bits() const;  // the least log2 Q_0
};

// A possible chain, without its auxiliary primes. Shapes and sizes are planned, but primes are not
// chosen yet.
struct Draft {
  ChainPlan chain;
  std::int64_t limbs = 0;  // limbs of all levels together, by which drafts are compared
  int primes = 0;          // primes of Q
  int family = 0;          // drafts of the same cycle on other bases form one family
  double log_q = 0;
};

// The digits of a chain of `primes` primes for which a key switch at the top takes the least work,
// best first. `dnum` 0: any number of digits.
struct Digits {
  int alpha = 1, dnum = 1;
};
std::vector<Digits> digits_of(int primes, int dnum);

// Drafts for a list of scales, with the fewest limbs first: single primes, groups of equal primes,
// and cycles that exchange terminals for mains (rational rescaling) of any size.
std::vector<Draft> drafts_of(const Schedule& schedule);

// Sizes of the levels of bootstrapping.
double evalmod_bits(const Schedule& schedule);
int log_message_ratio(double log_scale, double base_bits);

// Why a request fails, as a text for people.
struct Refusal {
  std::string had, needs;
};

// A change to a request, in the words of Python's arguments.
struct Fix {
  std::string text;
  std::function<void(ParamsRequest&)> change;
  ParamsRequest request;  // the changed request
};
// Whether chains are packed in such words. Others have levels whose primes are their own.
bool packs(const ParamsRequest& request);

// The first field that is out of range, and its nearest value in range.
struct Fault {
  Refusal why;
  Fix fix;
};
std::optional<Fault> fault_of(const ParamsRequest& request);

std::string name_of(const ParamsRequest& request, int levels);
std::string number(double x);  // at most four digits after the point, none that are 0

// The set, or the reason why there is none. The request's fields must be in range.
struct Outcome {
  std::shared_ptr<const Params> params;
  Refusal why;
  // For levels that cannot be packed: which level it is, and log2 of scales near its own with which
  // it can be packed if the others keep theirs.
  int level = -1;
  std::vector<double> nearest = {};
};
// `packs`: the most searches for packed chains, each of which may take half a second.
constexpr int kAllPacks = 4;
Outcome solve(const ParamsRequest& request, int packs);
// False if the levels need more bits than the security level allows. This is much faster than
// solve().
bool may_fit(const ParamsRequest& request);

}  // namespace latticino::own
