#include "backend/cpu/simd/tail_tables.h"

#include <array>
#include <vector>

namespace latticino::cpu {
namespace {

struct OwnedTailTables final : TailTables {
  std::array<std::vector<std::uint32_t>, 4> words;
};

std::vector<std::uint32_t> in_order_of_use(const std::uint32_t* table, int n, int lanes) {
  std::vector<std::uint32_t> out;
  out.reserve(static_cast<std::size_t>(n) / lanes * (lanes - 1));
  for (int base = 0; base < n / lanes; base += lanes) {  // groups of `lanes` words in this block
    for (int stride = lanes / 2; stride >= 1; stride /= 2) {
      const int blocks = lanes / (2 * stride), m = n / (2 * stride);
      for (int block = 0; block < blocks; ++block) {
        for (int group = 0; group < lanes; ++group) {
          out.push_back(table[m + (base + group) * blocks + block]);
        }
      }
    }
  }
  return out;
}

}  // namespace

std::shared_ptr<BackendTable> make_tail_tables(const PrimeTable& prime, int lanes) {
  auto tables = std::make_shared<OwnedTailTables>();
  const std::uint32_t* from[4] = {prime.root, prime.root_quotient, prime.inverse,
                                  prime.inverse_quotient};
  for (int i = 0; i < 4; ++i) {
    tables->words[i] = in_order_of_use(from[i], 1 << prime.log_n, lanes);
  }
  tables->root = tables->words[0].data();
  tables->root_quotient = tables->words[1].data();
  tables->inverse = tables->words[2].data();
  tables->inverse_quotient = tables->words[3].data();
  return tables;
}

std::shared_ptr<BackendTable> make_tail_tables_8(const PrimeTable& prime) {
  return make_tail_tables(prime, 8);
}
std::shared_ptr<BackendTable> make_tail_tables_16(const PrimeTable& prime) {
  return make_tail_tables(prime, 16);
}

}  // namespace latticino::cpu
