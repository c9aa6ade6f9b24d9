// Exact integers: fares of encrypted ages, with comparisons, a choice and a table.
#include <latticino/latticino.h>

#include <iostream>

namespace lt = latticino;

int main(int argc, char** argv) {
  lt::TfheContext server(argc > 1 ? argv[1] : "tfhe-2-2-v1");
  lt::TfheClient client(server);
  auto fare = [](const lt::TfheArray& ages) {
    lt::TfheArray old = ages >= 65;
    return lt::where(old, ages - 65, ages);
  };
  std::cout << lt::plan(server, fare, lt::TfheInput{3, lt::kU8}) << "\n";
  server.use(client.server_keys());  // the same keys for every program

  lt::TfheArray ages = client.encrypt({17, 65, 70}, lt::kU8);
  lt::TfheArray digits = client.encrypt({3, 7, 15}, lt::kU4);
  auto fares = client.decrypt(fare(ages));
  auto squares = client.decrypt(digits.apply([](auto v) { return v * v; }, lt::kU8));
  auto total = client.decrypt(ages.as(lt::kU16).sum());
  for (auto f : fares) std::cout << f << " ";
  for (auto s : squares) std::cout << s << " ";
  std::cout << total[0] << "\n";
  using Numbers = std::vector<std::uint64_t>;
  return fares == Numbers{17, 0, 5} && squares == Numbers{9, 49, 225} && total[0] == 152 ? 0 : 1;
}
