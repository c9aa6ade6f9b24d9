"""Sparse linear maps of encrypted arrays, made once and applied many times."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from .. import _native, arrays, errors
from ..claims import noise
from ..common import captured, roles
from ..common.layout import Layout
from ..common.locks import Lock
from ..common.naming import named
from ..ops import levels, moves
from . import placement
from .placement import Placed

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext
    from ..ckks.context import Context

MAX_ENTRIES = 1 << 27  # the most entries of one map: 3 GiB on the host
_MEMORY = 4 << 30
_MAX_LAYOUTS = 16  # number of layouts of arguments for which a map keeps its preparation
Layouts = Callable[[Layout, int], Sequence[Layout]]  # layouts of results, for a layout of arguments and the most slots


@dataclass(frozen=True)
class OfRows:
    """Layouts of results for arrays with leading axes: those of one row, shifted as the rows of the argument are."""

    layouts: Layouts
    lead: tuple[int, ...]
    shape_in: tuple[int, ...]

    def __call__(self, source: Layout, most: int) -> list[Layout]:
        places = source.places.reshape(math.prod(self.lead), -1)
        shifts = (places[:, 0] - places[0, 0])[:, None]
        if (places - shifts != places[0]).any():
            return []
        row = Layout(self.shape_in, source.slots, source.count, places[0].reshape(self.shape_in))
        out = []
        for one in self.layouts(row, most):
            every = one.places.reshape(-1) + shifts
            if np.unique(every).size == every.size:
                needed = int(every.max()) + 1
                slots = source.slots if source.count > 1 else min(most, 1 << (needed - 1).bit_length())
                out.append(Layout((*self.lead, *one.shape), slots, -(-needed // slots),
                                  every.reshape(*self.lead, *one.shape)))
        return out


class MapCost(roles.Handle):
    """What a map costs for arrays of one layout, at one level.

    ``diagonals``: products with clear values; ``rotations``: the distances that keys are needed for;
    ``hoisted``: rotations of the argument's ciphertexts, which share one ModUp each; ``single``: all other rotations,
    about three times as slow; ``source``, ``target``: the layouts; ``level`` of the argument.
    """

    def __init__(self, ctx: Context, way: Placed, level: int) -> None:
        self._ctx, self._way, self.level = ctx, way, level
        made = way.transform(ctx._native, level)
        turns = [way.target.slots << k for k in range(way.pieces.bit_length() - 1)]
        self.diagonals, self.source, self.target = way.map.diagonals, way.source, way.target
        self.rotations = tuple(sorted({*made.rotations, *turns}))
        self.hoisted, self.single = made.babies, made.giants + len(turns) * way.target.count
        self._bytes: int | None = None

    @property
    def bytes(self) -> int:
        """Device memory of the encoded diagonals. Encodes them without data, which takes about as long as a call."""
        if self._bytes is None:
            dry = self._ctx._dry()[0]
            self._bytes = placement.encoded(dry, self._way, self.level, lambda _: None).bytes
        return self._bytes

    def __str__(self) -> str:
        return (f"{self.diagonals} diagonals, {self.hoisted} hoisted rotations and {self.single} others, "
                f"{len(self.rotations)} keys; {self.source.count} to {self.target.count} ciphertexts")

    def __repr__(self) -> str:
        return f"MapCost({self}, level {self.level})"


class LinearMap(roles.Callee):
    """A sparse matrix between the flat values of arrays of two shapes: ``y.flat[r] = sum of values * x.flat[c]``.

    ``m(x)`` or ``x.apply(m)`` for an encrypted x of shape (..., *shape_in) gives (..., *shape_out), one level below.
    Leading axes are a batch. If its rows lie in separate ciphertexts, as after `stack`, they share the encoded
    diagonals and the keys, which are read once. ``m(x, y, z)`` does the same with several arrays, and gives a tuple.

    Encoded diagonals stay on the device as long as the map lives: one set per context, level and layout.
    OutOfMemoryError if they exceed ``memory`` bytes in a context. With ``keep=False`` each call encodes them and drops
    them at its end. That takes longer, and recordings refuse it. Real weights act on real and imaginary parts alike.

    Immutable, and safe to share between threads. Make one with `linear_map`, `matrix_map` or `diagonal_map`.
    """

    _CALLED = "call map(x) or x.apply(map); map.evaluate(x) is for numbers in the clear"

    def __init__(self, rows: Any, columns: Any, values: Any, shape_in: Any, shape_out: Any, *,
                 source: Layout | None = None, target: Layout | None = None, keep: bool = True,
                 memory: int | None = None, operation: str = "linear_map", layouts: Layouts | None = None,
                 shared: bool = False) -> None:
        # `shared`: diagonals are among the constants that the context keeps for a while, as those of matrices.
        self._operation, self._layouts, self._shared = operation, layouts, shared
        self.shape_in, self.shape_out = _shape(shape_in, operation), _shape(shape_out, operation)
        self.keep = arrays.as_flag(keep, operation, "keep")
        self.memory = _MEMORY if memory is None else arrays.as_integer(memory, operation, "memory", 1)
        r, c, v = _entries(rows, columns, values, self.size_in, self.size_out, operation)
        self._rows, self._columns, self._values = r, c, v
        for layout, shape, name in ((source, self.shape_in, "source"), (target, self.shape_out, "target")):
            _check_layout(layout, shape, name, operation)
        if target is not None and not target.injective:
            raise errors.ShapeError.explain(
                operation, "a target layout in which several values share a slot", "a slot for each result",
                "lay them out apart")
        self._source, self._target = source, target
        self._known_ways: dict[tuple[Any, ...], Placed] = {}
        self._wide: dict[tuple[int, ...], LinearMap] = {}  # for arrays whose leading axes share one ciphertext
        self._lock = Lock()

    # ---- properties ----

    @property
    def size_in(self) -> int:
        return math.prod(self.shape_in)

    @property
    def size_out(self) -> int:
        return math.prod(self.shape_out)

    @property
    def entries(self) -> int:
        """Weights that are not zero."""
        return int(self._values.size)

    @property
    def is_real(self) -> bool:
        return self._values.dtype.kind != "c"

    @cached_property
    def gain(self) -> tuple[float, float]:
        """Bounds of the sum of magnitudes and of the root of the sum of squares of the weights of any one result."""
        size = np.abs(self._values)
        l1 = np.bincount(self._rows, size, self.size_out)
        l2 = np.bincount(self._rows, size**2, self.size_out)
        return float(l1.max()), float(math.sqrt(l2.max()))

    @cached_property
    def _name(self) -> tuple[Any, ...]:
        digest = hashlib.sha256()
        for array in (self._rows, self._columns, self._values):
            digest.update(np.ascontiguousarray(array).tobytes())
        return ("linear map", self.shape_in, self.shape_out, self._values.dtype.str, digest.digest())

    @property
    def diagonals(self) -> int:
        """The number of products with clear values, for arguments in the layout ``source``, or in the plain one."""
        return self._own.map.diagonals

    @property
    def source(self) -> Layout:
        """The layout of arguments that `diagonals` is for: the one given, or the plain one."""
        return self._source or Layout.plain(self.shape_in, arrays.slots_for(self.size_in, 1 << 16, self._operation))

    @property
    def target(self) -> Layout:
        """The layout of results for arguments in the layout `source`."""
        return self._own.target

    @property
    def _own(self) -> Placed:
        return self._way(self.source, max(self.source.slots, self._target.slots if self._target else 1 << 16))

    def cost(self, where: Ciphertext | Context, source: Layout | None = None, level: int | None = None) -> MapCost:
        """What the map costs for an encrypted argument, or for arguments of a context in a layout and at a level.

        ``source`` None is the layout ``source`` of the map, or the plain one. ``level`` None is that of fresh
        ciphertexts."""
        m: LinearMap = self
        if _is_encrypted(where):
            x = self._rows_of(cast("Ciphertext", where))[0][0]
            ctx, source, level = x.context, x.layout, x.level
            lead = self._lead(x.shape)
            m = self._widened(lead) if lead else self
        else:
            if not hasattr(where, "_maps"):
                raise errors.UnsupportedError.explain(
                    self._operation, roles.name_of(type(where)), "a context or an encrypted array", "pass one of them")
            ctx = cast("Context", where)
            level = ctx.level if level is None else arrays.as_integer(level, self._operation, "level")
            if source is None:
                source = self._source or Layout.plain(
                    self.shape_in, arrays.slots_for(self.size_in, ctx.slots, self._operation))
            _check_layout(source, self.shape_in, "source", self._operation)
        if not 1 <= level <= ctx.params.top_level:
            raise errors.LevelError.explain(
                self._operation, f"level {arrays.shown(level)}", f"a level from 1 to {ctx.params.top_level}",
                "name another one")
        return MapCost(ctx, m._way(source, ctx.slots), level)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_known_ways", "_wide", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._known_ways, self._wide, self._lock = {}, {}, Lock()

    def __repr__(self) -> str:
        kept = f"keeps up to {self.memory / 2**30:.3g} GiB" if self.keep else "encoded at each call"
        return f"LinearMap({self.shape_in} to {self.shape_out}, {self.entries:,} weights, {kept})"

    def evaluate(self, x: Any) -> np.ndarray:
        """The same map applied to plain values, of an array of shape (..., *shape_in)."""
        x = arrays.as_numpy(x, self._operation)
        lead = self._lead(x.shape)
        return self._in_clear(x).reshape(*lead, *self.shape_out)

    def _in_clear(self, x: np.ndarray) -> np.ndarray:
        flat = x.reshape(-1, self.size_in)
        real = self.is_real and flat.dtype.kind != "c"
        out = np.empty((len(flat), self.size_out), float if real else complex)
        for row, v in zip(out, flat):
            products = self._values * v[self._columns]
            row[:] = np.bincount(self._rows, products.real, self.size_out)
            if not real:
                row += 1j * np.bincount(self._rows, products.imag, self.size_out)
        return out

    # ---- applying ----

    @overload
    def __call__(self, x: Ciphertext, /) -> Ciphertext: ...

    @overload
    def __call__(self, x: Ciphertext, y: Ciphertext, /, *more: Ciphertext) -> tuple[Ciphertext, ...]: ...

    @captured.step("lt.linear_map")
    def __call__(self, *xs: Any) -> Any:
        """The map of encrypted arrays of shape (..., *shape_in)."""
        for x in xs:
            if not _is_encrypted(x):
                raise errors.UnsupportedError.explain(
                    self._operation, roles.name_of(type(x)), "an encrypted array", "encrypt it, or use evaluate()")
            self._lead(x.shape)
        if not xs:
            raise errors.ShapeError.explain(self._operation, "no array", "one or more", "pass encrypted arrays")
        split = [self._rows_of(x) for x in xs]
        made = iter(self._of_all([row for rows, _ in split for row in rows]))
        out = []
        for rows, lead in split:
            results = [next(made) for _ in rows]
            out.append(results[0] if lead is None else _stacked(results, (*lead, *self.shape_out)))
        return out[0] if len(out) == 1 else tuple(out)

    def _lead(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The leading axes; ShapeError if the last ones are not those of an argument."""
        k = len(shape) - len(self.shape_in)
        if k < 0 or shape[k:] != self.shape_in:
            raise errors.ShapeError.explain(
                self._operation, f"an array of shape {shape}", f"shape {self.shape_in}, or that with leading axes",
                "reshape it, or make the map for that shape")
        return shape[:k]

    def _rows_of(self, x: Ciphertext) -> tuple[list[Ciphertext], tuple[int, ...] | None]:
        """The arrays of a batch, if each has ciphertexts of its own; otherwise one array with its leading axes."""
        lead = self._lead(x.shape)
        if not lead:
            return [x], None
        places = x.layout.places.reshape(-1, self.size_in)
        parts = places // x.slots
        first, last = parts.min(axis=1), parts.max(axis=1)
        order = np.argsort(first)
        apart = len(places) == 1 or bool((last[order][:-1] < first[order][1:]).all())
        alike = bool((places - (first * x.slots)[:, None] == places[0] - first[0] * x.slots).all())
        if not (apart and alike):
            return [x], None
        index = np.arange(x.size).reshape(len(places), *self.shape_in)
        return [moves.taken(x, i) for i in index], lead

    def _of_all(self, xs: Sequence[Ciphertext]) -> list[Ciphertext]:
        """The results for all arguments; those of one form are computed together."""
        forms: dict[Any, list[int]] = {}
        xs = [x._ready(1) for x in xs]
        for i, x in enumerate(xs):
            levels.require_one(x, self._operation)
            level = x.level
            xs[i] = x = x if all(p.level == level for p in x._parts) else x.to_level(level)
            form = (id(x.context), x._key, x.layout.name, level, tuple(p.scale for p in x._parts), x.shape)
            forms.setdefault(form, []).append(i)
        out: list[Any] = [None] * len(xs)
        for members in forms.values():
            for i, y in zip(members, self._alike([xs[i] for i in members])):
                out[i] = y
        return out

    def _alike(self, xs: Sequence[Ciphertext]) -> list[Ciphertext]:
        """The map of arrays that all have one context, key, layout, level and scale."""
        x = xs[0]
        lead = self._lead(x.shape)
        if lead:
            return self._widened(lead)._alike(xs)
        ctx, way = x.context, self._way(x.layout, x.context.slots)
        transform = self._transform(ctx, way, x.level)
        with named(self._operation, "matmul"):
            parts = placement.apply(xs, way, transform)
        rotates = bool(transform.rotations) or way.pieces > 1
        l1, l2 = self.gain
        growth = math.sqrt(way.map.slots / x.slots)
        out = []
        for x, made in zip(xs, parts):
            added, rounded = placement.added_error(x, way, made[0], rotates, l2)
            known = x._known if growth == 1 else x._known.repeated(x.size, growth)
            scale = noise.weight_scale(ctx.params, x.level)
            alike = way.map.alike(x.layout, scale, way.target.slots, way.pieces)
            known = known.mapped(self._in_clear, l1, l2, self.is_real, added, rounded, alike,
                                 way.map.correlation)
            known = known.with_common_error(x._known, way.map.common_error(x.layout, scale) * way.pieces)
            out.append(x._like(made, known, layout=way.target.with_rest("zero")))
        return out

    def _transform(self, ctx: Context, way: Placed, level: int) -> _native.BlockTransform:
        """The transform with its diagonals, which are kept or made for this call."""
        if not self.keep:
            if ctx._native.recording:
                raise errors.UnsupportedError.explain(
                    self._operation, "a map with keep=False in a recording", "diagonals that stay on the device",
                    "make it with keep=True")
            return placement.encoded(ctx, way, level, lambda _: None)
        if self._shared:
            shared: _native.BlockTransform = ctx._products.get(
                (*way.map.name, level), lambda: placement.encoded(ctx, way, level, lambda _: None))
            return shared
        with ctx._lock.own:
            kept = ctx._maps.get(self, {})
            name = (way.source.name, way.target.name, way.map.slots, level)
            if name not in kept:
                before = sum(t.bytes for t in kept.values())
                within = placement.require_budget(self._operation, self.memory)
                kept[name] = placement.encoded(ctx, way, level, lambda size: within(before + size))
                ctx._maps[self] = kept
            return kept[name]

    # ---- layouts ----

    def _way(self, source: Layout, most: int) -> Placed:
        """The map for arguments of a layout. It leads to the given target, or else to the layout that takes the least
        work."""
        key = (source.name, most)
        with self._lock.own:
            if key not in self._known_ways:
                made = self._made(source, most)
                while len(self._known_ways) >= _MAX_LAYOUTS:
                    self._known_ways.pop(next(iter(self._known_ways)))
                self._known_ways[key] = made
            return self._known_ways[key]

    def _made(self, source: Layout, most: int) -> Placed:
        for layout in (source, self._target):
            if layout is not None and layout.slots > most:
                raise errors.ShapeError.explain(
                    self._operation, f"a layout of {layout.slots} slots", f"at most {most} here",
                    "lay it out in more ciphertexts")
        if self._target is not None:
            targets: Sequence[Layout] = [self._target]
        else:
            targets = [*(self._layouts(source, most) if self._layouts else ()), *self._usual(source, most)]
        ways = [placement.placed(self._name, self._rows, self._columns, self._values, source, t) for t in targets]
        way = min(ways, key=lambda w: w.cost)
        way.map.require_possible(self._operation)
        return way

    def _usual(self, source: Layout, most: int) -> list[Layout]:
        """The usual layouts of results: the plain one, and the argument's own if there are no more results than
        values."""
        out = [Layout.plain(self.shape_out, arrays.slots_for(self.size_out, most, self._operation))]
        if out[0].slots < source.slots:
            out.append(Layout.plain(self.shape_out, source.slots))
        if self.size_out <= self.size_in and source.injective:
            places = source.places.reshape(-1)[: self.size_out]
            out.append(Layout(self.shape_out, source.slots, int(places.max()) // source.slots + 1,
                              places.reshape(self.shape_out)))
        return out

    def _widened(self, lead: tuple[int, ...]) -> LinearMap:
        """The map of arrays with leading axes, for those whose rows share ciphertexts."""
        with self._lock.own:
            if lead not in self._wide:
                self._wide[lead] = self._repeated(lead)
            return self._wide[lead]

    def _repeated(self, lead: tuple[int, ...]) -> LinearMap:
        count = math.prod(lead)
        if count * self.entries > MAX_ENTRIES:
            raise errors.UnsupportedError.explain(
                self._operation, f"a batch of {count} in shared ciphertexts with {self.entries:,} weights",
                f"at most {MAX_ENTRIES:,} weights in all", "stack arrays that were encrypted one by one")
        if self._target is not None:
            raise errors.UnsupportedError.explain(
                self._operation, "a target layout, and a batch whose rows share ciphertexts",
                "rows in ciphertexts of their own", "stack arrays that were encrypted one by one")
        i = np.arange(count)[:, None]
        return LinearMap(
            (self._rows + i * self.size_out).reshape(-1), (self._columns + i * self.size_in).reshape(-1),
            np.broadcast_to(self._values, (count, self.entries)).reshape(-1), (*lead, *self.shape_in),
            (*lead, *self.shape_out), keep=self.keep, memory=self.memory, operation=self._operation,
            layouts=OfRows(self._layouts, lead, self.shape_in) if self._layouts else None, shared=self._shared)


def _is_encrypted(x: Any) -> bool:
    return isinstance(getattr(x, "layout", None), Layout)


def _stacked(results: Sequence[Ciphertext], shape: tuple[int, ...]) -> Ciphertext:
    y = moves.joined(results, np.stack, "linear_map") if len(results) > 1 else results[0]
    return moves.taken(y, np.arange(y.size).reshape(shape))


def _shape(x: Any, operation: str) -> tuple[int, ...]:
    shape = arrays.as_shape(x, operation, moves.MAX_VALUES)
    if math.prod(shape) < 1:
        raise errors.ShapeError.explain(operation, f"the shape {shape}", "at least one value", "check the shape")
    return shape


def _check_layout(layout: Any, shape: tuple[int, ...], name: str, operation: str) -> None:
    if layout is None:
        return
    roles.require_kind(operation, layout, Layout, "take x.layout of an encrypted array, or lt.Layout")
    if layout.shape != shape:
        raise errors.ShapeError.explain(
            operation, f"a {name} layout of shape {layout.shape}", f"shape {shape}", "lay out an array of that shape")


def _entries(rows: Any, columns: Any, values: Any, size_in: int, size_out: int,
             operation: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries row by row, without zeros. Several entries of one place are added up."""
    v = arrays.as_doubles(values, operation).reshape(-1)
    if not np.isfinite(v).all():
        raise errors.ValueError.explain(operation, "NaN or infinity", "finite weights", "clean the data")
    if v.dtype.kind == "c" and not v.imag.any():
        v = np.ascontiguousarray(v.real)
    index = []
    for given, name, most in ((rows, "rows", size_out), (columns, "columns", size_in)):
        i = arrays.as_numpy(given, operation).reshape(-1)
        if (i.size and i.dtype.kind not in "iu") or i.shape != v.shape or (
                i.size and (int(i.min()) < 0 or int(i.max()) >= most)):
            raise errors.ShapeError.explain(
                operation, f"{i.size} {name} of dtype {i.dtype} for {v.size} values",
                f"as many integers from 0 to {most - 1}", "check the indices")
        index.append(i.astype(np.int64))
    if v.size > MAX_ENTRIES:
        raise errors.UnsupportedError.explain(
            operation, f"{v.size:,} weights", f"at most {MAX_ENTRIES:,}", "split the map")
    places, back = np.unique(index[0] * size_in + index[1], return_inverse=True)
    total = np.zeros(places.size, v.dtype)
    np.add.at(total, back.reshape(-1), v)
    chosen = total != 0
    places, total = places[chosen], total[chosen]
    return places // size_in, places % size_in, total


def linear_map(rows: Any, columns: Any, values: Any, shape_in: Any, shape_out: Any, *, source: Layout | None = None,
               target: Layout | None = None, keep: bool = True, memory: int | None = None) -> LinearMap:
    """The map with these entries: result ``rows[k]`` (an index into the flat result) gets ``values[k]`` times value
    ``columns[k]`` of the flat argument. If a place occurs several times, its entries are added.

    ``shape_in``, ``shape_out``: shapes of arrays, or numbers of values. ``target``: the layout of results; left out,
    the one that takes the least work. ``source``: a layout of arguments, which only `LinearMap.diagonals` uses; calls
    use the layout that their argument has. ``keep``, ``memory`` (bytes, 4 GiB): see `LinearMap`. ShapeError for indices
    outside of the shapes, ValueError for weights that are not finite, UnsupportedError if the diagonals exceed 2^26
    slots.
    """
    return LinearMap(rows, columns, values, shape_in, shape_out, source=source, target=target, keep=keep, memory=memory)


def matrix_map(w: Any, shape_in: Any = None, shape_out: Any = None, **options: Any) -> LinearMap:
    """The map ``w @ x.ravel()`` of a matrix with a row for each result and a column for each value of the argument.

    Shapes and options as of `linear_map`; left out, arguments and results are vectors.
    """
    w = arrays.as_doubles(w, "matrix_map")
    if w.ndim != 2 or w.size == 0:
        raise errors.ShapeError.explain("matrix_map", f"shape {w.shape}", "a matrix", "reshape it")
    if not np.isfinite(w).all():
        raise errors.ValueError.explain("matrix_map", "NaN or infinity", "finite weights", "clean the data")
    given = zip(w.shape[::-1], (shape_in, shape_out))
    shapes = [_shape(n if shape is None else shape, "matrix_map") for n, shape in given]
    if (math.prod(shapes[1]), math.prod(shapes[0])) != w.shape:
        raise errors.ShapeError.explain(
            "matrix_map", f"a matrix of shape {w.shape} for shapes {shapes[0]} and {shapes[1]}",
            "a column for each value of the argument and a row for each result", "transpose it, or check the shapes")
    rows, columns = np.nonzero(w)
    return LinearMap(rows, columns, w[rows, columns], *shapes, operation="matrix_map", **options)


def diagonal_map(diagonals: Mapping[int, Any], shape: Any = None, **options: Any) -> LinearMap:
    """The map ``y[i] = sum over d of diagonals[d][i] * x[(i + d) % n]`` of n values.

    ``diagonals``: vectors of n numbers, or single numbers, which stand for n equal ones (`shape` says n then). Options
    as of `linear_map`.
    """
    if not isinstance(diagonals, Mapping) or not diagonals:
        raise errors.ShapeError.explain("diagonal_map", "no diagonals", "a dictionary of vectors", "pass {0: values}")
    given = {arrays.as_integer(d, "diagonal_map", "diagonal"): arrays.as_doubles(v, "diagonal_map")
             for d, v in diagonals.items()}
    own = _shape(max(v.size for v in given.values()) if shape is None else shape, "diagonal_map")
    n = math.prod(own)
    if any(v.ndim > 1 or v.size not in (1, n) for v in given.values()):
        raise errors.ShapeError.explain(
            "diagonal_map", f"diagonals of shapes {[v.shape for v in given.values()]}",
            f"vectors of {n} numbers, or single ones", "pad them, or pass shape=")
    i = np.arange(n)
    return LinearMap(np.tile(i, len(given)), np.concatenate([(i + d % n) % n for d in given]),
                     np.concatenate([np.broadcast_to(v, n) for v in given.values()]), own, own,
                     operation="diagonal_map", **options)
