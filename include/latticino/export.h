/// \file
/// What the shared library exports.
#pragma once

/// In front of every class and function that a program may use: all else is hidden.
#define LATTICINO_API __attribute__((visibility("default")))
