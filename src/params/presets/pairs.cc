#include "params/presets/pairs.h"

namespace latticino::params {
namespace {

// Double rescaling at 2^48 (paper: Cheddar, first version, Table 2). The primes are listed here,
// because a search that chooses the pair of one level after the other finds too few. At N = 2^16
// the ring has 38 primes below 2^25. Such a search finds ten pairs and then no partner for the next
// prime. A matching of all primes has thirteen pairs, each within 0.06 bit of the scale.
// Auxiliary primes below 2^30 exceed every digit, and leave room for the tenth level.
ParamsLiteral n16_d48_dr() {
  ParamsLiteral x;
  x.name = "n16-d48-dr-boot-v1";
  x.log_n = 16;
  x.mains = {260702209, 276430849, 16384001,  16515073,  14942209,  19529729,  14155777,  20316161,
             13631489,  20054017,  13238273,  21495809,  12451841,  22806529,  11272193,  24772609,
             10223617,  27000833,  8650753,   33292289,  8257537,   32899073,  7340033,   38535169,
             6946817,   40370177,  6684673,   42729473,  536608769, 537133057, 521011201, 553254913,
             487456769, 591265793, 494534657, 582746113, 526123009, 547749889, 488243201, 590479361,
             532283393, 541327361, 493879297, 583794689, 58851329,  76677121,  60424193,  74711041,
             61734913,  72744961,  51511297,  87293953};
  x.aux = {1073479681, 1071513601, 1070727169, 1068236801, 1065484289, 1064697857, 1062862849,
           1062469633, 1060765697, 1056440321, 1056178177, 1055260673, 1054212097};
  for (std::uint16_t m = 2; m <= 52; m += 2) x.levels.push_back({m, 0});
  x.alpha = 13;
  x.log_scale = 48;
  x.bootstrap = BootstrapLiteral{};
  x.bootstrap->log_message_ratio = 6;
  return x;
}

}  // namespace

std::vector<ParamsLiteral> pair_literals() { return {n16_d48_dr()}; }

}  // namespace latticino::params
