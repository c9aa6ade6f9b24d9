#include "params/presets/packed.h"

namespace latticino::params {
namespace {

using Security = ParamsLiteral::Security;

// The first two sets were packed by a search that is gone (prefixes of one list, of any length).
ParamsLiteral n14_d35_w28() {
  ParamsLiteral x;
  x.name = "n14-d35-w28-leveled-v1";
  x.log_n = 14;
  x.terminals = {17006593, 1769473, 2424833, 2654209};
  x.mains = {268042241, 267943937, 267550721, 267059201,
             266895361, 265486337, 265420801, 264732673};
  x.aux = {268369921, 268271617, 268238849};
  x.levels = {{0, 2}, {2, 1}, {1, 4}, {3, 3}, {5, 2}, {7, 1}, {6, 4}, {8, 3}};
  x.alpha = 3;
  x.log_scale = 35;
  x.level_log_scale.assign(8, 35);
  return x;
}

ParamsLiteral test_n10() {
  ParamsLiteral x;
  x.name = "test-n10-bitpacker-insecure";
  x.log_n = 10;
  x.terminals = {4188161, 18433, 3721217, 184321, 12289};
  x.mains = {268343297, 268326913, 268277761, 268271617};
  x.aux = {268369921, 268367873, 268361729};
  x.levels = {{1, 1}, {1, 3}, {1, 5}, {4, 2}, {4, 4}};
  x.alpha = 3;
  x.log_scale = 40;
  x.level_log_scale = {40, 38, 34.5, 33, 36};
  x.security = Security::Insecure;
  return x;
}

// Packed with pack_primes. Listed, so that the planner may get better without changing a set: user
// levels at one scale up to level `fresh`, eight EvalMod levels and four of CoeffToSlot.
ParamsLiteral bootstrapping(const char* name, double log_scale, int fresh, double evalmod_bits,
                            double cts_bits, int log_message_ratio) {
  ParamsLiteral x;
  x.name = name;
  x.log_n = 16;
  x.log_scale = log_scale;
  x.bootstrap = BootstrapLiteral{};
  x.bootstrap->log_message_ratio = log_message_ratio;
  x.level_log_scale.assign(fresh + 1, log_scale);
  x.level_log_scale.insert(x.level_log_scale.end(), x.bootstrap->evalmod_levels, evalmod_bits);
  x.level_log_scale.insert(x.level_log_scale.end(), x.bootstrap->cts_levels, cts_bits);
  return x;
}

ParamsLiteral n16_d35_w30() {
  ParamsLiteral x = bootstrapping("n16-d35-w30-boot-v1", 34.9, 19, 58, 52, 7);
  x.terminals = {33292289, 36175873, 28311553, 30539777, 26214401};
  x.mains = {1054212097, 1053818881, 1052508161, 1051721729, 1049100289, 1048707073, 1045430273,
             1043464193, 1042415617, 1040842753, 1040056321, 1038745601, 1037303809, 1036779521,
             1034813441, 1032192001, 1031667713, 1030619137, 1029308417, 1026686977, 1026162689,
             1023148033, 1021444097, 536608769,  537133057,  521011201,  553254913,  526123009,
             547749889,  487456769,  591265793,  488243201,  590479361,  494534657,  582746113,
             493879297,  583794689,  532283393,  541327361,  134348801,  158334977,  147849217,
             171835393};
  x.aux = {1073479681, 1071513601, 1070727169, 1068236801, 1065484289, 1064697857,
           1062862849, 1062469633, 1060765697, 1056440321, 1056178177, 1055260673};
  x.levels = {{0, 2},  {2, 1},  {4, 0},  {1, 5},  {3, 4},  {5, 3},  {7, 2},  {9, 1},
              {11, 0}, {8, 5},  {10, 4}, {12, 3}, {14, 2}, {16, 1}, {18, 0}, {15, 5},
              {17, 4}, {19, 3}, {21, 2}, {23, 1}, {25, 1}, {27, 1}, {29, 1}, {31, 1},
              {33, 1}, {35, 1}, {37, 1}, {39, 1}, {40, 2}, {41, 3}, {42, 4}, {43, 5}};
  x.alpha = 12;
  return x;
}

ParamsLiteral n16_d45_w30() {
  ParamsLiteral x = bootstrapping("n16-d45-w30-boot-v1", 45, 14, 59, 52, 6);
  x.terminals = {8519681, 5767169, 6684673};
  x.mains = {1054212097, 1053818881, 1052508161, 1051721729, 1049100289, 1048707073, 1045430273,
             1043464193, 1042415617, 1040842753, 1040056321, 1038745601, 1037303809, 1036779521,
             1034813441, 1032192001, 1031667713, 1030619137, 1029308417, 1026686977, 1026162689,
             1023148033, 169869313,  164233217,  176029697,  758906881,  759693313,  753664001,
             764805121,  721551361,  799014913,  720240641,  800194561,  748158977,  770703361,
             715128833,  805961729,  720633857,  800063489,  132120577,  136314881,  528351233,
             781975553,  673579009};
  x.aux = {1073479681, 1071513601, 1070727169, 1068236801, 1065484289, 1064697857,
           1062862849, 1062469633, 1060765697, 1056440321, 1056178177, 1055260673};
  x.levels = {{1, 1},  {1, 3},  {4, 1},  {4, 3},  {7, 1},  {7, 3},  {10, 1}, {10, 3}, {13, 1},
              {13, 3}, {16, 1}, {16, 3}, {19, 1}, {19, 3}, {22, 1}, {25, 0}, {27, 0}, {29, 0},
              {31, 0}, {33, 0}, {35, 0}, {37, 0}, {39, 0}, {41, 0}, {42, 1}, {43, 2}, {44, 3}};
  x.alpha = 12;
  return x;
}

ParamsLiteral test_n10_boot() {
  ParamsLiteral x = bootstrapping("test-n10-d35-w30-boot-insecure", 35, 6, 56.5, 52, 5);
  x.log_n = 10;
  x.security = Security::Insecure;
  x.terminals = {808961, 40961, 878593, 1054721, 33550337};
  x.mains = {1073651713, 1073643521, 1073620993, 1073600513, 1073569793, 1073563649,
             1073551361, 1073539073, 319199233,  319234049,  319180801,  319285249,
             319168513,  319291393,  319160321,  319295489,  319154177,  319328257,
             319113217,  319334401,  319107073,  319346689,  319076353,  319356929,
             134203393,  134215681,  134176769,  134246401,  134250497};
  x.aux = {1073707009, 1073698817, 1073692673, 1073682433, 1073668097, 1073655809};
  x.levels = {{1, 1},  {1, 3},  {4, 0},  {4, 2},  {3, 5},  {5, 4},  {8, 1},
              {10, 1}, {12, 1}, {14, 1}, {16, 1}, {18, 1}, {20, 1}, {22, 1},
              {24, 1}, {26, 1}, {28, 1}, {28, 4}, {29, 5}};
  x.alpha = 6;
  return x;
}

}  // namespace

std::vector<ParamsLiteral> packed_literals() {
  return {n14_d35_w28(), test_n10(), n16_d35_w30(), n16_d45_w30(), test_n10_boot()};
}

}  // namespace latticino::params
