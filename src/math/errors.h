// Typed errors of the library: they are part of its interface.
#pragma once

#include <utility>

#include "latticino/errors.h"
