// Replays one bootstrapping many times and compares every result with the first, bit for bit: a
// race shows one time in thousands.
//   bench_soak --device cuda --preset n16-d40-boot-v1 --runs 10000
#include <cstdio>
#include <cstring>

#include "world.h"

namespace latticino::bench {
namespace {

using Words = std::vector<std::uint32_t>;

void download(Queue& queue, const Ciphertext& x, Words& to) {
  std::size_t words = 0;
  for (const Poly& part : x.parts) {
    const std::size_t count = static_cast<std::size_t>(part.view.limbs()) * part.view.ring->n();
    to.resize(std::max(to.size(), words + count));
    queue.download(to.data() + words, part.view);
    words += count;
  }
}

int run(const Arguments& arguments) {
  World world(arguments.text("preset"),
              make_backend(arguments.text("device"), arguments.number("threads")));
  const int slots = world.params()->max_slots(), runs = arguments.number("runs");
  world.make_keys(dry_run(world.params(), 0, slots, bootstrapping({})).request);
  const Bootstrapper bootstrapper(world.context());
  const Ciphertext x = world.encrypt(world.message("complex", slots), 0);
  Words first, now;
  download(world.queue(), bootstrapper.bootstrap(world.evaluator(), x), first);
  Ciphertext y;
  Program program = world.queue().record([&] { y = bootstrapper.bootstrap(world.evaluator(), x); });
  int different = 0;
  const Stopwatch watch;
  for (int i = 0; i < runs; ++i) {
    // The result is overwritten before each replay, so that none can stand for the next.
    for (const Poly& part : y.parts) {
      world.queue().submit(Copy{{{PolyView{}, part.view}}});
    }
    program.run();
    download(world.queue(), y, now);
    different += now != first;
  }
  std::printf("%d replays in %.1f s: %d differ from the immediate run\n", runs, watch.seconds(),
              different);
  Row row = world.row("bootstrap.soak", different, "results", runs);
  row.add("runs", runs).add("commit", arguments.text("commit")).add("date", today());
  write_rows({row}, arguments.text("output"));
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv,
      {{"device", "cuda"}, {"threads", "0"}, {"preset", "n16-d40-boot-v1"}, {"runs", "10000"}},
      [](const bench::Arguments& arguments) { return bench::run(arguments); });
}
