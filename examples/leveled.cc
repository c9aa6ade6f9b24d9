// A server that is another machine: keys and data come as files, the program is recorded once and
// replayed. Without bootstrapping: (x . w)^2 + x, two levels.
#include <latticino/latticino.h>

#include <cmath>
#include <filesystem>
#include <iostream>

namespace lt = latticino;

int main(int argc, char** argv) {
  const std::string preset = argc > 1 ? argv[1] : "n15-d40-leveled-v1";
  const std::string folder =
      (std::filesystem::temp_directory_path() / "latticino_leveled").string();
  std::filesystem::create_directories(folder);
  const std::vector<double> w = {0.5, -0.25, 0.125, 1.0};
  auto score = [&](const lt::Array& x) {
    lt::Array s = lt::matmul(x, lt::Values(w));
    return s * s + x.sum();
  };

  // The client keeps its secret key and sends files.
  lt::Context home(preset);
  lt::Client client(home);
  lt::save_server_keys(folder + "/keys", client.server_keys(lt::plan(home, score, lt::Input({4}))));
  const std::vector<double> x = {0.25, 0.5, -0.75, 0.1};
  lt::EncryptOptions stated;
  stated.range = lt::Range{-1, 1};  // precision that is claimed rests on it
  lt::save_array(folder + "/x", client.encrypt(x, stated));

  // The server has no secret.
  lt::Context server(preset);
  server.use(lt::load_server_keys(folder + "/keys", server));
  lt::Array input = lt::load_array(folder + "/x", server);
  auto recorded = lt::record(score, input);
  lt::Array result = recorded(input);
  std::cout << result << "\n";
  lt::save_array(folder + "/result", result);

  const double have = client.decrypt_real(lt::load_array(folder + "/result", home))[0];
  double dot = 0, sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    dot += x[i] * w[i];
    sum += x[i];
  }
  std::cout << "decrypted " << have << ", expected " << dot * dot + sum << "\n";
  std::filesystem::remove_all(folder);
  return std::abs(have - (dot * dot + sum)) < 1e-3 ? 0 : 1;
}
