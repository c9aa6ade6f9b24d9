// The kernels by record: each translation unit packs one family's arguments and launches it.
#pragma once

#include "backend/cuda/launch.h"
#include "ops/operations.h"

namespace latticino::cuda {

void run(Launcher& launcher, const Transform& op);       // ntt.cu
void run(Launcher& launcher, const Convert& op);         // convert.cu
void run(Launcher& launcher, const KeyInner& op);        // key_inner.cu
void run(Launcher& launcher, const SubtractScale& op);   // subtract_scale.cu
void run(Launcher& launcher, const Linear& op);          // linear.cu
void run(Launcher& launcher, const Tensor& op);          // products.cu
void run(Launcher& launcher, const Dot& op);             // products.cu
void run(Launcher& launcher, const Automorphism& op);    // automorphism.cu
void run(Launcher& launcher, const ModRaise& op);        // integers.cu
void run(Launcher& launcher, const FromIntegers& op);    // integers.cu
void run(Launcher& launcher, const Embed& op);           // embed.cu
void run(Launcher& launcher, const Project& op);         // project.cu
void run(Launcher& launcher, const ExpandUniform& op);   // expand.cu
void run(Launcher& launcher, const SampleGaussian& op);  // sample_gaussian.cu
void run(Launcher& launcher, const Copy& op);            // linear.cu
void run(Launcher& launcher, const LweLinear& op);       // lwe.cu
void run(Launcher& launcher, const LweKeySwitch& op);    // lwe_key_switch.cu
void run(Launcher& launcher, const ModSwitch& op);       // lwe.cu
void run(Launcher& launcher, const SampleExtract& op);   // lwe.cu
void run(Launcher& launcher, const LweSlots& op);        // lwe_slots.cu
void run(Launcher& launcher, const FourierKey& op);      // fourier_key.cu
void run(Launcher& launcher, const BlindRotate& op);     // blind_rotate.cu

}  // namespace latticino::cuda
