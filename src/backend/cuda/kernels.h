// The kernels by record: each translation unit packs one family's arguments and launches it.
#pragma once

#include "backend/cuda/launch/launch.h"
#include "ops/operations.h"

namespace latticino::cuda {

void run(Launcher& launcher, const Transform& op);       // ntt/transform.cu
void run(Launcher& launcher, const Convert& op);         // convert/convert.cu
void run(Launcher& launcher, const KeyInner& op);        // key_switch/key_inner.cu
void run(Launcher& launcher, const ModDownFinish& op);   // key_switch/mod_down_finish.cu
void run(Launcher& launcher, const Linear& op);          // poly/linear.cu
void run(Launcher& launcher, const Tensor& op);          // poly/products.cu
void run(Launcher& launcher, const Dot& op);             // poly/products.cu
void run(Launcher& launcher, const Automorphism& op);    // poly/automorphism.cu
void run(Launcher& launcher, const ModRaise& op);        // poly/integers.cu
void run(Launcher& launcher, const FromIntegers& op);    // poly/integers.cu
void run(Launcher& launcher, const Embed& op);           // slots/embed.cu
void run(Launcher& launcher, const Project& op);         // slots/project.cu
void run(Launcher& launcher, const ExpandUniform& op);   // poly/expand.cu
void run(Launcher& launcher, const SampleGaussian& op);  // poly/sample_gaussian.cu
void run(Launcher& launcher, const Copy& op);            // poly/linear.cu
void run(Launcher& launcher, const LweLinear& op);       // lwe/lwe.cu
void run(Launcher& launcher, const LweKeySwitch& op);    // lwe/key_switch.cu
void run(Launcher& launcher, const ModSwitch& op);       // lwe/lwe.cu
void run(Launcher& launcher, const SampleExtract& op);   // lwe/lwe.cu
void run(Launcher& launcher, const LweSlots& op);        // lwe/slots.cu
void run(Launcher& launcher, const FourierKey& op);      // rotate/fft/key.cu
void run(Launcher& launcher, const BlindRotate& op);     // rotate/blind_rotate.cu

}  // namespace latticino::cuda
