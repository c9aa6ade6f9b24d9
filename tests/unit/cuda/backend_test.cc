// The CUDA backend apart from its kernels: transfers, recording, errors, two backends at the same
// time.
#include <algorithm>

#include "backend/branches.h"
#include "math/errors.h"
#include "unit/cuda/pair.h"

namespace latticino {
namespace {

class CudaBackendTest : public CudaPair {};

// Larger than the staging buffers, in pieces that are no multiple of them.
TEST_F(CudaBackendTest, TransfersKeepEveryDomain) {
  use_ring(16, ntt_primes(16, 31, 70));
  const Basis basis{{0, 43}, {44, 70}};
  for (const Domain domain : {Domain::Coeff, Domain::Half, Domain::Eval}) {
    compare({poly(basis, domain)});
  }
}

// The logical order is that of the transforms: a linear map that tells entries apart.
TEST_F(CudaBackendTest, UploadedOrderIsLogical) {
  use_ring(12, ntt_primes(12, 30, 2));
  const Basis basis{{0, 2}};
  const Twin x = poly(basis, Domain::Eval), y = poly(basis, Domain::Eval);
  expect_equal(
      [&](int s) {
        return Operation(Automorphism{{{{{x.view[s], 5}}, y.view[s]}}});
      },
      {y});
}

Operation doubling(const PolyView& x) { return Linear{{{{{x, 2, {}, {}}}, x, {}, {}}}}; }

TEST_F(CudaBackendTest, ReplaysWhatWasRecorded) {
  use_ring(12, ntt_primes(12, 31, 3));
  const Twin x = poly({{0, 3}}, Domain::Eval);
  for (int s = 0; s < 2; ++s) backend_[s]->run(doubling(x.view[s]));
  cuda().begin_record();
  void* inside = cuda().allocate(1 << 20);
  cuda().run(doubling(x.view[1]));
  cuda().clear(inside, 1 << 20);
  const auto replay = cuda().end_record();
  compare({x});  // recording did not run it
  for (int i = 0; i < 5; ++i) replay->launch();
  for (int i = 0; i < 5; ++i) backend_[0]->run(doubling(x.view[0]));
  compare({x});
  cuda().release(inside, 1 << 20);
}

// Transforms need scratch memory. A recording has its own, which is used for nothing else.
TEST_F(CudaBackendTest, RecordedScratchBelongsToTheReplay) {
  use_ring(13, ntt_primes(13, 31, 4));
  const Basis basis{{0, 4}};
  const Twin x = poly(basis, Domain::Coeff), y = poly(basis, Domain::Coeff);
  const auto step = [&](int s) {
    const PolyView a = x.view[s], b = y.view[s];
    backend_[s]->run(Transform{{{a, a.in(Domain::Eval)}, {b, b.in(Domain::Half)}}});
    backend_[s]->run(Linear{{{{{a.in(Domain::Eval), 5, {}, {}}}, a.in(Domain::Eval), {}, {}}}});
    backend_[s]->run(Transform{{{a.in(Domain::Eval), a}, {b.in(Domain::Half), b}}});
  };
  for (int s = 0; s < 2; ++s) step(s);
  cuda().begin_record();
  for (int i = 0; i < 3; ++i) step(1);
  const auto replay = cuda().end_record();
  const std::size_t bytes = 8 * std::size_t{4} * ring().n();
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(cuda().allocate(bytes));
  replay->launch();
  for (void* p : blocks) cuda().clear(p, bytes);
  replay->launch();
  for (void* p : blocks) cuda().release(p, bytes);
  for (int i = 0; i < 6; ++i) step(0);
  compare({x, y});
}

// Several forks: both branches read x, need scratch memory, and join again.
TEST_F(CudaBackendTest, BranchesRunAsOneAfterTheOther) {
  use_ring(13, ntt_primes(13, 31, 4));
  const Basis basis{{0, 4}};
  const Twin x = poly(basis, Domain::Eval), y = poly(basis, Domain::Eval);
  const Twin z = poly(basis, Domain::Eval);
  // In place and in one phase, which reads from a copy.
  const auto branch = [&](int s, const Twin& to, std::int32_t by) {
    const PolyView out = to.view[s];
    backend_[s]->run(Linear{{{{{x.view[s], by, {}, {}}}, out, {}, {}}}});
    backend_[s]->run(Transform{{{out, out.in(Domain::Half)}}});
    backend_[s]->run(Transform{{{out.in(Domain::Half), out}}});
  };
  const auto meet = [&](int s) {
    const PolyView to = x.view[s];
    backend_[s]->run(
        Linear{{{{{to, 1, {}, {}}, {y.view[s], 1, {}, {}}, {z.view[s], 1, {}, {}}}, to, {}, {}}}});
  };
  const auto in_turn = [&](int s) {
    branch(s, y, 3);
    branch(s, z, 5);
    meet(s);
  };
  for (int s = 0; s < 2; ++s) in_turn(s);
  Branches& branches = Branches::of(cuda(), "test");
  cuda().begin_record();
  for (int round = 0; round < 3; ++round) {
    branches.fork();
    branch(1, y, 3);
    branches.choose(Branches::Branch::Second);
    branch(1, z, 5);
    branches.join();
    meet(1);
  }
  const auto replay = cuda().end_record();
  for (int i = 0; i < 20; ++i) replay->launch();
  for (int i = 0; i < 60; ++i) in_turn(0);
  compare({x, y, z});
  in_turn(0);
  in_turn(1);  // on the stream, as before
  compare({x, y, z});
}

TEST_F(CudaBackendTest, BranchesAreOfARecordingAndJoin) {
  use_ring(12, ntt_primes(12, 31, 3));
  const Twin x = poly({{0, 3}}, Domain::Eval);
  for (int s = 0; s < 2; ++s) backend_[s]->run(doubling(x.view[s]));
  Branches& branches = Branches::of(cuda(), "test");
  EXPECT_THROW(branches.fork(), UnsupportedError);
  EXPECT_THROW(branches.join(), UnsupportedError);
  for (const auto branch : {Branches::Branch::First, Branches::Branch::Second}) {
    for (const bool abandons : {false, true}) {
      cuda().begin_record();
      EXPECT_THROW(branches.choose(branch), UnsupportedError);
      branches.fork();
      EXPECT_THROW(branches.fork(), UnsupportedError);
      branches.choose(branch);
      cuda().run(doubling(x.view[1]));
      if (abandons) {
        cuda().abandon_record();
      } else {
        EXPECT_THROW(cuda().end_record(), UnsupportedError);
      }
      compare({x});  // and the backend uses its own stream again
    }
  }
  cuda().begin_record();
  cuda().run(doubling(x.view[1]));
  cuda().end_record()->launch();
  backend_[0]->run(doubling(x.view[0]));
  compare({x});
}

// A transform of a secret uses scratch memory. The next user of that memory must find nothing in
// it.
TEST_F(CudaBackendTest, ScratchIsClearedBeforeItIsGivenBack) {
  use_ring(13, ntt_primes(13, 31, 4));
  const Twin x = poly({{0, 4}}, Domain::Coeff);
  const PolyView v = x.view[1];
  const std::size_t words = std::size_t{4} * ring().n();
  cuda().synchronize();
  const auto run = [&] { cuda().run(Transform{{{v, v.in(Domain::Eval)}}}); };
  run();  // makes the tables
  for (int i = 0; i < 3; ++i) {
    void* fresh = cuda().allocate(words * 4);  // the next memory of the pool, which is cleared
    cuda().clear(fresh, words * 4);
    cuda().release(fresh, words * 4);
    run();
    void* after = cuda().allocate(words * 4);
    std::vector<std::uint32_t> found(words);
    cuda().copy_out(found.data(), after, words * 4);
    cuda().release(after, words * 4);
    EXPECT_EQ(std::count(found.begin(), found.end(), 0u), static_cast<std::ptrdiff_t>(words));
  }
}

// The driver takes microseconds for a block. So a released block is given to the next request of
// its size, and returns to the device when memory is trimmed.
TEST_F(CudaBackendTest, ReleasedBlocksAreKeptForTheNextRequest) {
  constexpr std::size_t kBytes = std::size_t{48} << 20;
  const std::unique_ptr<Backend> keeping = make_cuda_backend({.keep_blocks = true});
  keeping->reset_memory_peak();
  const std::size_t before = keeping->memory().peak;
  void* first = keeping->allocate(kBytes);
  EXPECT_EQ(keeping->memory().peak, before + kBytes);
  keeping->release(first, kBytes);
  void* again = keeping->allocate(kBytes - 1);
  EXPECT_EQ(again, first);
  keeping->release(again, kBytes - 1);
  EXPECT_EQ(keeping->memory().peak, before + kBytes);
  const std::size_t held = keeping->memory().held;
  keeping->trim();
  EXPECT_LE(keeping->memory().held + kBytes, held);
}

// Kernels may start before the previous one has ended: chains in which each step overwrites what
// the step before has read, and reads what it has written, immediate and replayed.
TEST_F(CudaBackendTest, OverlappingKernelsKeepTheirOrder) {
  use_ring(14, ntt_primes(14, 31, 6));
  const Basis basis{{0, 6}};
  const Twin x = poly(basis, Domain::Eval), y = poly(basis, Domain::Eval);
  const Twin z = poly(basis, Domain::Eval), w = poly(basis, Domain::Eval);
  const auto step = [&](int s) {
    const PolyView a = x.view[s], b = y.view[s], c = z.view[s], d = w.view[s];
    backend_[s]->run(Automorphism{{{{{a, 5}, {b, 3}}, c}}});
    backend_[s]->run(Copy{{{c, a}}});
    backend_[s]->run(Dot{1, {{a, {}, {}}, {b, {}, {}}}, {{{{0, d}, {1, c}}, {b, {}, {}}, false}}});
    backend_[s]->run(Linear{{{{{b, 3, {}, {}}, {c, -7, {}, {}}}, d, {}, {}}}});
  };
  constexpr int kSteps = 20, kReplays = 5;
  for (int s = 0; s < 2; ++s) step(s);
  compare({x, y, z, w});
  for (int i = 0; i < kSteps; ++i) step(1);
  cuda().begin_record();
  for (int i = 0; i < kSteps; ++i) step(1);
  const auto replay = cuda().end_record();
  for (int i = 0; i < kReplays; ++i) replay->launch();
  for (int i = 0; i < kSteps * (kReplays + 1); ++i) step(0);
  compare({x, y, z, w});
}

TEST_F(CudaBackendTest, RecordingRefusesTransfersAndNewTables) {
  use_ring(10, ntt_primes(10, 31, 2));
  const Twin x = poly({{0, 2}}, Domain::Eval);
  cuda().begin_record();
  EXPECT_THROW(cuda().run(doubling(x.view[1])), DeviceError);
  std::uint32_t word = 0;
  EXPECT_THROW(cuda().copy_out(&word, x.view[1].data, 4), UnsupportedError);
  cuda().abandon_record();
  for (int s = 0; s < 2; ++s) backend_[s]->run(doubling(x.view[s]));  // still usable afterwards
  compare({x});
}

TEST_F(CudaBackendTest, TwoBackendsSideBySide) {
  use_ring(12, ntt_primes(12, 31, 3));
  const Twin x = poly({{0, 3}}, Domain::Eval);
  const auto other = make_cuda_backend();
  const Ring other_ring(12, ntt_primes(12, 31, 3));
  const std::size_t bytes = std::size_t{3} * other_ring.n() * 4;
  void* p = other->allocate(bytes);
  const PolyView y =
      PolyView::contiguous(static_cast<std::uint32_t*>(p), other_ring, {{0, 3}}, Domain::Eval);
  const auto start = read(0, x.view[0]);
  other->upload(y, start.data());
  for (int i = 0; i < 3; ++i) {
    for (int s = 0; s < 2; ++s) backend_[s]->run(doubling(x.view[s]));
    other->run(doubling(y));
  }
  compare({x});
  std::vector<std::uint32_t> host(start.size());
  other->download(host.data(), y);
  EXPECT_EQ(host, read(0, x.view[0]));
  EXPECT_THROW(cuda().run(doubling(y)), ContextError);  // the ring belongs to the other backend
  other->release(p, bytes);
}

TEST_F(CudaBackendTest, TooMuchMemoryIsATypedErrorAndNothingBreaks) {
  use_ring(10, ntt_primes(10, 31, 1));
  const DeviceInfo info = cuda().info();
  EXPECT_EQ(info.backend, "cuda");
  EXPECT_GT(info.total_bytes, info.free_bytes);
  EXPECT_THROW(cuda().allocate(2 * info.total_bytes), OutOfMemoryError);
  const Twin x = poly({{0, 1}}, Domain::Coeff);
  for (int s = 0; s < 2; ++s) backend_[s]->run(doubling(x.view[s]));
  compare({x});
}

TEST(CudaDevices, AskingForAMissingDeviceSaysSo) {
  EXPECT_THROW(make_cuda_backend({.device = 4096}), DeviceError);
  EXPECT_THROW(make_cuda_backend({.device = -1}), DeviceError);
}

}  // namespace
}  // namespace latticino
