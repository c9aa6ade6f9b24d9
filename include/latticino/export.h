/// \file
/// The macro that marks what the shared library exports.
#pragma once

/// Stands in front of every class and function that a program may use. All else is hidden.
#define LATTICINO_API __attribute__((visibility("default")))
