// Random requests: the result is a set that has everything that was asked for, or a refusal whose
// remedies are accepted.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <regex>
#include <set>

#include "math/errors.h"
#include "params/own/request.h"

namespace latticino {
namespace {

class Draw {
 public:
  explicit Draw(int seed) : random_(seed) {}
  int number(int low, int high) { return low + static_cast<int>(random_() % (high - low + 1)); }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() % 1000001) / 1e6;
  }

  ParamsRequest request(bool list) {
    ParamsRequest r;
    r.n = std::int64_t{1} << (number(0, 1) == 0 ? 17 : number(11, 16));
    r.word = number(28, 29);
    r.security = 0;
    r.dnum = number(0, 2) == 0 ? number(1, 8) : 0;
    r.levels = number(1, 44);
    r.log_scale = real(27, 58);
    if (!list) return r;
    r.level_log_scale.emplace();
    for (int levels = number(1, 11); levels >= 0; --levels) {
      r.level_log_scale->push_back(real(32, 58));
    }
    return r;
  }

 private:
  std::mt19937_64 random_;
};

// The request with one alternative of a remedy: settings joined by "and".
ParamsRequest remedied(ParamsRequest x, const std::string& remedy) {
  static const std::regex setting(
      R"((N|levels|scale|word|dnum|secret)(\[(\d+)\])?=(2\*\*|levels\[:|)([-\d.]+|None|'ternary')\]?(?: and |$))");
  std::size_t read = 0;
  for (std::sregex_iterator at(remedy.begin(), remedy.end(), setting), end; at != end; ++at) {
    const std::smatch& m = *at;
    read += m.length();
    const std::string name = m[1], form = m[4], value = m[5];
    const double is = value == "None" || value == "'ternary'" ? 0 : std::stod(value);
    if (name == "N") x.n = static_cast<std::int64_t>(is);
    if (name == "word") x.word = static_cast<std::int64_t>(is);
    if (name == "dnum") x.dnum = static_cast<std::int64_t>(is);
    if (name == "scale") x.log_scale = is;
    if (name != "levels") continue;
    if (m[3].matched) {
      x.level_log_scale.value().at(std::stoul(m[3])) = is;
    } else if (form.empty()) {
      x.level_log_scale.reset();
      x.levels = static_cast<std::int64_t>(is);
    } else {
      x.level_log_scale.value().resize(static_cast<std::size_t>(is));
    }
  }
  EXPECT_EQ(read, remedy.size()) << remedy;
  return x;
}

std::vector<std::string> alternatives(const std::string& what) {
  const std::string kAsk = "; ask for ", kOr = "; or for ";
  std::vector<std::string> out;
  std::size_t from = what.rfind(kAsk);
  if (from == std::string::npos) return out;
  from += kAsk.size();
  for (std::size_t to; (to = what.find(kOr, from)) != std::string::npos; from = to + kOr.size()) {
    out.push_back(what.substr(from, to - from));
  }
  out.push_back(what.substr(from));
  return out;
}

void expect_kept(const ParamsRequest& x, const Params& made) {
  const int levels = static_cast<int>(x.level_log_scale ? x.level_log_scale->size() - 1 : x.levels);
  ASSERT_EQ(made.top_level(), levels);
  for (int l = 0; l <= levels; ++l) {
    const double wanted = x.level_log_scale ? (*x.level_log_scale)[l] : x.log_scale;
    EXPECT_NEAR(std::log2(made.scale(l)), wanted, 0.5) << "level " << l;
  }
  if (x.dnum != 0) EXPECT_EQ(made.dnum(), x.dnum);
  const int word = x.word == 0 ? 31 : static_cast<int>(x.word);
  for (const auto* list : {&made.literal().mains, &made.literal().terminals, &made.literal().aux}) {
    for (const std::uint32_t q : *list) EXPECT_LT(q, std::uint32_t{1} << word);
  }
}

// The level that a refusal names; -1 if it names none.
int level_of(const std::string& what) {
  std::smatch m;
  return std::regex_search(what, m, std::regex(R"(\(level (\d+) with a scale)")) ? std::stoi(m[1])
                                                                                 : -1;
}

TEST(OwnRequests, AreKeptOrRefusedWithWhatIsAccepted) {
  Draw draw(3);
  std::set<int> uniform, lists;  // the levels that refusals name
  int kept = 0;
  for (int i = 0; i < 60 && (uniform.size() < 2 || lists.size() < 3 || kept < 6); ++i) {
    const bool list = i % 2 == 1;
    const ParamsRequest x = draw.request(list);
    try {
      expect_kept(x, *make_params(x));
      ++kept;
    } catch (const ParameterError& e) {
      SCOPED_TRACE(e.what());
      if (const int level = level_of(e.what()); level > 0) (list ? lists : uniform).insert(level);
      const std::vector<std::string> all = alternatives(e.what());
      EXPECT_FALSE(all.empty());
      for (const std::string& remedy : all) {
        const ParamsRequest other = remedied(x, remedy);
        EXPECT_NO_THROW(expect_kept(other, *make_params(other))) << remedy;
      }
    }
  }
  EXPECT_GE(uniform.size(), 2);
  EXPECT_GE(lists.size(), 3);
  EXPECT_GE(kept, 6);
}

// One scale for all levels, for which there are no primes at a level above the base. The refusal
// names another scale for all levels.
TEST(OwnRequests, OfOneScaleAreRefusedWithAScaleThatWorks) {
  ParamsRequest x;
  x.n = 1 << 17;
  x.log_scale = std::log2(23021378436.625656);
  x.word = 28;
  x.levels = 44;
  try {
    make_params(x);
    FAIL() << "accepted";
  } catch (const ParameterError& e) {
    EXPECT_EQ(level_of(e.what()), 2) << e.what();
    const std::vector<std::string> all = alternatives(e.what());
    ASSERT_FALSE(all.empty()) << e.what();
    EXPECT_EQ(all[0].rfind("scale=2**", 0), 0) << e.what();
    expect_kept(remedied(x, all[0]), *make_params(remedied(x, all[0])));
  }
}

}  // namespace
}  // namespace latticino
