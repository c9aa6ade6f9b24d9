"""How a context bootstraps: its forms, the objects that run them, and the options of both."""

from __future__ import annotations

from typing import Any

from .. import _native, arrays, errors

_KINDS = {"complex": _native.Message.Complex, "real": _native.Message.Real, "merged": _native.Message.MergedReals}


class Bootstrapping:
    """Checks the options, and asks the core, which chooses forms and keeps the objects that it made (``native``).
    ``timed``: the device whose rates predict the times of forms. ``like``: the bootstrapping of the context that a twin
    stands for. Both share these rates and the forms that are known."""

    def __init__(self, context: _native.Context, timed: tuple[str, int], like: Bootstrapping | None = None) -> None:
        self.native: _native.Refresher = (
            _native.Refresher(context, *timed) if like is None else _native.Refresher(context, like.native))
        self._params = context.params

    def bootstrapper(self, slots: int | None, message: str, **options: Any) -> _native.Bootstrapper:
        """See Context.bootstrapper."""
        kind = _message_kind(message)
        slots = self._slots(slots)
        checked: Any = [arrays.as_flag(options[name], "bootstrap", name) for name in (
            "minimal_keys", "slot_to_coeff_first", "over_mod_raise")]
        checked += [arrays.as_integer(options[name], "bootstrap", name, 0, most) for name, most in (
            ("arcsine", 7), ("log_message_ratio", 64))]
        return self.native.bootstrapper(slots, kind, *checked)

    def form(self, level: int, slots: int | None, message: str, *options: Any) -> _native.BootstrapChoice:
        """See Context.bootstrap_form."""
        kind = _message_kind(message)
        level = arrays.as_integer(level, "bootstrap", "level", 0, self._params.top_level)
        slots = self._slots(slots)
        return self.native.form(level, slots, kind, *_checked(*options))

    def refreshed(self, evaluator: _native.Evaluator, x: _native.Contents, message: str | None,
                  *options: Any) -> tuple[_native.Contents, str, int, list[tuple[str, str, str]]]:
        """The refreshed array, the note for a plan, the number of bootstrappings, and the reason why values do not fit.
        ``message=None``: the core chooses."""
        kind = None if message is None else _message_kind(message)
        return _native.bootstrapped(evaluator, self.native, x, kind, *_checked(*options))

    def form_of_pair(self, xs: list[_native.Contents], *options: Any) -> tuple[_native.Bootstrapper, str]:
        """The operation that refreshes two arrays of real values as one, and the note for a plan."""
        checked = _checked(*options)
        form, note = self.native.form_of(xs, _native.Message.MergedReals, *checked)
        booter = self.native.bootstrapper(
            xs[0].slots, _native.Message.MergedReals, checked[0], form.slot_to_coeff_first, form.over_mod_raise,
            form.arcsine, form.log_message_ratio)
        return booter, note

    def _slots(self, slots: int | None) -> int:
        most = self._params.max_slots
        return most if slots is None else arrays.as_integer(slots, "bootstrap", "slots", 1, most)


def _checked(minimal_keys: bool, slot_to_coeff_first: bool | None, over_mod_raise: bool | None, arcsine: int | None,
             log_message_ratio: int | None, random_like: bool) -> tuple[Any, ...]:
    """The options of a form, in this order. The core chooses those that are None."""
    minimal_keys, random_like = (arrays.as_flag(x, "bootstrap", name) for x, name in (
        (minimal_keys, "minimal_keys"), (random_like, "random_like")))
    slot_to_coeff_first, over_mod_raise = (
        None if x is None else arrays.as_flag(x, "bootstrap", name) for x, name in (
            (slot_to_coeff_first, "slot_to_coeff_first"), (over_mod_raise, "over_mod_raise")))
    arcsine = None if arcsine is None else arrays.as_integer(arcsine, "bootstrap", "arcsine", 0, 7)
    log_message_ratio = None if log_message_ratio is None else arrays.as_integer(
        log_message_ratio, "bootstrap", "log_message_ratio", 0, 64)
    return minimal_keys, slot_to_coeff_first, over_mod_raise, arcsine, log_message_ratio, random_like


def _message_kind(message: str) -> _native.Message:
    if not isinstance(message, str) or message not in _KINDS:
        raise errors.UnsupportedError.explain(
            "bootstrap", f"message={arrays.shown(message)}", " or ".join(map(repr, _KINDS)), "name one of them")
    return _KINDS[message]
