#include "params/security.h"

#include "params/bounds/security.h"

namespace latticino {

int security_bits(const Params& params, bool quantum) {
  if (params.literal().security != ParamsLiteral::Security::Bits128) return 0;
  if (params.bootstrap()) return quantum ? 0 : 128;
  for (const int bits : {256, 192, 128}) {
    const int weight = params.literal().hamming_weight;
    if (params.log_pq() <= max_log_pq(params.log_n(), bits, quantum, weight)) return bits;
  }
  return 0;
}

}  // namespace latticino
