#include "params/presets/packed.h"

namespace latticino::params {
namespace {

using Security = ParamsLiteral::Security;

// Both sets were packed by a search that is gone (prefixes of one list, of any length), so their
// primes are stated.
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

}  // namespace

std::vector<ParamsLiteral> packed_literals() { return {n14_d35_w28(), test_n10()}; }

}  // namespace latticino::params
