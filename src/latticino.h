// The whole public interface: parameters, keys and encryption, evaluation, bootstrapping, files;
// TFHE: gates, tables, integers; switching between both.
#pragma once

#include "backend/backend.h"
#include "ckks/bootstrap/bootstrap.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/encoder.h"
#include "ckks/evaluator.h"
#include "ckks/linear_transform.h"
#include "ckks/polynomial.h"
#include "io/files.h"
#include "math/errors.h"
#include "params/params.h"
#include "rlwe/client.h"
#include "rlwe/evaluation_keys.h"
#include "runtime/queue.h"
#include "runtime/rates.h"
#include "switch/client.h"
#include "switch/switcher.h"
#include "tfhe/client.h"
#include "tfhe/evaluator.h"
#include "tfhe/integers.h"
