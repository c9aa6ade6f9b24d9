// Canonical text of a TFHE literal, as text.cc has that of CKKS: hashed and stored in files.
#include <locale>
#include <sstream>
#include <string>

#include "params/text_lines.h"
#include "params/tfhe/checks.h"

namespace latticino::params {

std::string to_text(const TfheLiteral& x) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(17);
  out << "latticino-tfhe-params 1\nname " << x.name << "\nsecurity " << security_name(x.security)
      << "\nlwe_dimension " << x.lwe_dimension << "\nglwe_dimension " << x.glwe_dimension
      << "\nlog_n " << x.log_n << "\nprimes";
  for (const std::uint32_t q : x.primes) out << " " << q;
  out << "\nsigma " << x.lwe_sigma << " " << x.glwe_sigma << "\nbootstrap " << x.bootstrap.log_base
      << " " << x.bootstrap.levels << "\nkey_switch " << x.key_switch.log_base << " "
      << x.key_switch.levels << "\nternary " << x.ternary << "\ngroup " << x.group << "\nbits "
      << x.message_bits << " " << x.carry_bits << "\nmax_norm " << x.max_norm << "\nlog_failure "
      << x.log_failure << "\n";
  return out.str();
}

namespace {

Gadget read_gadget(std::istream& in, const char* key) {
  const std::vector<int> v = read_numbers<int>(in, key, 2);
  return {v[0], v[1]};
}

}  // namespace
}  // namespace latticino::params

namespace latticino {

TfheLiteral parse_tfhe_params(const std::string& text) {
  using namespace params;
  constexpr std::size_t kLongest = 1 << 12;
  if (text.size() > kLongest) refuse_text(std::to_string(text.size()) + " bytes");
  std::istringstream in(text);
  TfheLiteral x;
  if (read_word(in, "latticino-tfhe-params") != "1") refuse_text("another version");
  x.name = read_word(in, "name");
  x.security = read_security(read_word(in, "security"));
  x.lwe_dimension = read_number<int>(read_word(in, "lwe_dimension"));
  x.glwe_dimension = read_number<int>(read_word(in, "glwe_dimension"));
  x.log_n = read_number<int>(read_word(in, "log_n"));
  x.primes = read_numbers<std::uint32_t>(in, "primes");
  const std::vector<double> sigma = read_numbers<double>(in, "sigma", 2);
  x.lwe_sigma = sigma[0];
  x.glwe_sigma = sigma[1];
  x.bootstrap = read_gadget(in, "bootstrap");
  x.key_switch = read_gadget(in, "key_switch");
  x.ternary = read_number<int>(read_word(in, "ternary")) != 0;
  x.group = read_number<int>(read_word(in, "group"));
  const std::vector<int> bits = read_numbers<int>(in, "bits", 2);
  x.message_bits = bits[0];
  x.carry_bits = bits[1];
  x.max_norm = read_number<double>(read_word(in, "max_norm"));
  x.log_failure = read_number<double>(read_word(in, "log_failure"));
  if (to_text(x) != text) refuse_text("text that is not in canonical form");
  return x;
}

}  // namespace latticino
