"""The objects of a context for switching to TFHE and back: sets, keys without data for a twin, ways back, tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _native, arrays, errors
from ..common.constants import ConstantCache
from ..common.locks import Lock
from .plan import RepackRoute


class Switchers:
    """``sets``: names of sets for these parameters, the default one first. ``timed``: the machine whose rates decide on
    a way back, as soon as something was planned for it."""

    def __init__(self, context: _native.Context, sets: list[str], lock: Lock,
                 timed: tuple[str, int] | None = None, like: Switchers | None = None) -> None:
        self.sets, self.timed = sets, timed
        self.tables: ConstantCache[_native.SwitchTable] = ConstantCache(64 * 2**20, lambda t: t.bytes)
        self.routes: dict[tuple[str, int, str], RepackRoute] = {}  # ways back that a twin's program takes
        self.keys: dict[str, _native.SwitchKeys] = {}  # the keys of a twin, without data
        # Comparing the routes takes a second, so dry contexts share the choices.
        self._known: dict[tuple[str, int, bool, str], RepackRoute] = {} if like is None else like._known
        self._context, self._lock = context, lock
        self._contexts: dict[str, _native.SwitchContext] = {}
        self._made: dict[tuple[Any, ...], _native.Switcher] = {}  # of a twin; others lie with their bundles of keys

    def ordered(self, used: Sequence[str]) -> list[str]:
        """The names of the sets, the default one first. Sets with keys in use come before others."""
        return sorted(self.sets, key=lambda name: name not in used)

    def named(self, name: str | None, sets: Sequence[str]) -> str:
        """The set of that name, or the first one; ParameterError for an unknown name."""
        name = None if name is None else arrays.as_text(name, "switching", "switching")
        if not sets or name not in (None, *sets):
            raise errors.ParameterError.explain(
                "switching",
                ("no set" if name is None else f"the set {arrays.shown(name)}") + f" for {self._context.params.name}",
                " or ".join(sets) or "other parameters",
                "name one of these" if sets else "choose parameters that a set of switching belongs to")
        return name or sets[0]

    def context(self, name: str) -> _native.SwitchContext:
        """See Context.switching."""
        name = arrays.as_text(name, "switching", "name")
        with self._lock.own:
            if name not in self._contexts:
                self._contexts[name] = _native.SwitchContext.create(name, self._context)
            return self._contexts[name]

    def without_data(self, name: str, slots: int, bound: float, minimal_keys: bool, route: str) -> _native.Switcher:
        """For a twin: the switcher that takes ciphertexts through tables. Its keys have no data."""
        key = (name, slots, bound, minimal_keys, route)
        with self._lock.own:
            if key not in self._made:
                route = self._route(name, slots, minimal_keys, route).route
                self._made[key] = _native.Switcher(self.context(name), self._keys_of(name), *key[1:4], route=route)
            return self._made[key]

    @property
    def bytes(self) -> int:
        """The size of the keys and tables that a twin's program has made."""
        return sum(s.bytes for s in self._made.values())

    def _route(self, name: str, slots: int, minimal_keys: bool, route: str) -> RepackRoute:
        """The way back from tables that a plan chooses, and for which there are keys."""
        key = (name, slots, minimal_keys, route)
        if key not in self._known:
            native = self.context(name)
            # A route that is asked for by name is used, whatever it costs.
            budget: dict[str, Any] = {} if route == "automatic" else {"budget": 2**63}
            assert self.timed is not None
            self._known[key] = RepackRoute(*native.choose_route(*key[1:], *self.timed, **budget))
        way = self.routes[name, slots, route] = self._known[key]
        if way.route == "matvec":
            self._keys_of(name).add_without_data(self.context(name), slots, way.product_slots)
        return way

    def _keys_of(self, name: str) -> _native.SwitchKeys:
        if name not in self.keys:
            self.keys[name] = _native.SwitchKeys.without_data(self.context(name))
        return self.keys[name]
