"""The `latticino` command."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TextIO

from . import __version__, _native, arrays, errors, tfhe
from .ckks.context import preset, presets
from .cluster import planning
from .common.options import count
from .serve import commands as commands_of_services

DEFAULT_PRESET = "n16-d40-boot-v1"
MAX_THREADS = 4096
PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg", ".webp", ".eps", ".ps")  # formats that matplotlib can draw


class Parser(argparse.ArgumentParser):
    """Reports errors in one line, and accepts arguments and options of a command in any order."""

    _again = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """For `bench compare --record R A B`, argparse alone would not accept A and B: their positional argument was
        already matched, with no values, before the option."""
        found = super().parse_known_args(args, namespace)
        if not found[1] or self._subparsers is not None or self._again:
            return found
        self._again = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._again = False

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"latticino: {arrays.printable(message)}; see {self.prog} --help\n")


# Options that only some demos have.
_OWN = {"helr": ("data", "iterations", "rows", "repeat", "recorded", "output", "no_plot", "scales",
                 "separate"),
        "sort": ("size", "bits", "repeat", "recorded", "output", "no_plot"),
        "trees": ("encrypted", "output", "no_plot")}
_NETWORKS = ("resnet20", "resnet20-aespa", "squeezenet", "rnn", "transformer", "resnet18")
_OWN.update(dict.fromkeys(_NETWORKS, ("images", "encrypted", "batch", "memory", "weights", "output", "no_plot")))


def _require_used(args: argparse.Namespace) -> None:
    """Raises UnsupportedError for an option that the demo would ignore."""
    def given(option: str) -> bool:
        return getattr(args, option) is not None

    for option in sorted({option for several in _OWN.values() for option in several} - set(_OWN[args.what])):
        if given(option):
            owners = " and ".join(name for name, several in _OWN.items() if option in several)
            raise errors.UnsupportedError.explain(
                f"demo {args.what}", f"--{option.replace('_', '-')}", "options of its own",
                f"leave it out: it belongs to {owners}")
    for option, beside, reason in (("preset", "scales", "each scale has a set of its own"),
                                   ("output", "scales", "several trainings draw no plot"),
                                   ("output", "no_plot", "nothing is drawn")):
        if given(option) and given(beside):
            raise errors.UnsupportedError.explain(
                f"demo {args.what}", f"--{option} beside --{beside.replace('_', '-')}", "one of them",
                f"leave --{option} out: {reason}")


def _require_possible(args: argparse.Namespace) -> None:
    """Raises an error of the library for arguments that no demo can use, before it trains a model or reads data."""
    from .common import devices
    from .files import regular
    from .nn.compiling import as_bytes

    if args.preset is not None:
        preset(args.preset)
    if args.device not in (None, devices.NOT_ENCRYPTED):
        devices.named(args.device)
    if args.memory is not None:
        as_bytes(args.memory)
    if args.weights is not None:
        regular.opened(args.weights, "weights", "a .safetensors or .npz file of a recipe").close()


def _demo(args: argparse.Namespace) -> int:
    _require_possible(args)
    if args.what == "trees":
        return _trees(args)
    if args.what in _NETWORKS:
        return _network(args)
    args.preset, args.repeat = args.preset or DEFAULT_PRESET, args.repeat or 1
    return _sort(args) if args.what == "sort" else _helr(args)


def _plotted(args: argparse.Namespace, workload: Any, measure: Callable[[], Any]) -> int:
    """Runs a demo that draws, and writes its plot and its record."""
    from .workloads import demo

    if not args.no_plot:
        demo.require_plots()
    result = measure()
    if not args.no_plot:
        workload.plot(result, args.output)
    if args.record:
        from .measure import records, report, targets

        row = records.stamped(workload.row(result))
        targets.check([row])
        targets.check_workloads([row])
        report.print_references(row)
        records.write(args.record, [row])
    return int(workload.verdict(result))


def _sort(args: argparse.Namespace) -> int:
    from .workloads import sort

    return _plotted(args, sort, lambda: sort.run(args.preset, args.device, args.size,
                                                 sort.BITS if args.bits is None else args.bits, args.threads,
                                                 args.repeat, bool(args.recorded)))


def _trees(args: argparse.Namespace) -> int:
    from .workloads import demo, trees

    if not args.no_plot:
        demo.require_plots()
    rows = trees.run(args.preset, args.device, trees.ENCRYPTED if args.encrypted is None else args.encrypted,
                     args.threads)
    if not args.no_plot:
        trees.plot(rows, args.output)
    if args.record:
        from .measure import records

        records.write(args.record, [records.stamped(trees.row(r)) for r in rows])
    return trees.verdict(rows)


def _network(args: argparse.Namespace) -> int:
    import importlib

    from .workloads import networks

    work = importlib.import_module(f".workloads.{args.what.replace('-', '_')}", __package__).WORKLOAD
    return _plotted(args, networks, lambda: networks.run(
        work, args.preset, args.device, args.images, args.encrypted or 0, args.batch, args.memory, args.threads,
        args.weights, not args.no_plot))


def _helr(args: argparse.Namespace) -> int:
    from .workloads import demo

    if args.scales:
        return _helr_at_scales(args)
    return _plotted(args, demo, lambda: demo.run(args.preset, args.device, args.data, args.iterations, args.rows,
                                                 args.threads, args.repeat, not args.separate,
                                                 args.recorded))


def _helr_at_scales(args: argparse.Namespace) -> int:
    """One training after the other, each with the set of its scale. It returns a row for each, and draws no picture."""
    from .measure import records
    from .workloads import demo

    rows, worst = [], 0
    for scale in args.scales:
        result = demo.run(demo.PRESET_BY_SCALE[scale], args.device, args.data, args.iterations, args.rows, args.threads,
                          args.repeat, not args.separate, args.recorded)
        rows.append(records.stamped(demo.row(result)))
        worst = max(worst, demo.verdict(result))
    if args.record:
        records.write(args.record, rows)
    return worst


def _info(_: argparse.Namespace) -> int:
    print(f"latticino {__version__}")
    print(f"CUDA backend: {'built' if _native.cuda_built() else 'not built'}, "
          f"{_native.cuda_device_count()} devices")
    print("presets of CKKS:")
    for name in presets():
        p = _native.preset(name)
        kind = f"{p.level_after_bootstrap} levels after bootstrapping" if p.has_bootstrap else (
            f"{p.default_level} levels")
        mark = "" if p.secure else "  NOT 128-bit secure"
        print(f"  {name:34} N = 2^{p.log_n}, scale 2^{p.log_scale:g}, {kind}{mark}")
    print("presets of TFHE:")
    for name in tfhe.presets():
        t = tfhe.preset(name)
        kind = "booleans" if t.booleans else f"blocks of {t.message_bits} bits"
        mark = "" if t.secure else "  NOT 128-bit secure"
        print(f"  {name:34} n = {t.lwe_dimension}, k = {t.glwe_dimension}, N = {t.n}, {kind}, "
              f"fails with 2^{t.log_failure:.0f}{mark}")
    return 0


def _explain(args: argparse.Namespace) -> int:
    is_tfhe = args.preset in tfhe.presets()
    print((tfhe.preset if is_tfhe else preset)(args.preset).explain())
    return 0


def _params(args: argparse.Namespace) -> int:
    from .ckks.parameters import make_params, parameter_costs
    from .common import devices
    from .files import regular
    from .files.saving import save_params

    if args.device is not None:
        devices.named(args.device)
    if args.save is not None:
        regular.require_replaceable(args.save, "params")
    made = make_params(args.N, args.levels, args.scale, word=args.word, bootstrapping=args.bootstrapping,
                       dnum=args.dnum, secret=args.secret, security=args.security, quantum=args.quantum, name=args.name)
    costs = parameter_costs(made, args.device)
    if args.save is not None:  # checked before anything is printed, so that a refusal comes first
        save_params(args.save, made)
    print(made.explain(), end="")
    print(costs)
    if args.save is not None:
        print(f"saved to {arrays.printable(str(args.save))}")
    return 0


def _real(text: str) -> float:
    """A number, or a power of two as 2**40 or 2^40."""
    base, mark, exponent = text.replace("^", "**").partition("**")
    value: object = None
    with contextlib.suppress(ValueError, OverflowError, ZeroDivisionError):
        value = float(base) ** float(exponent) if mark else float(text)
    if not isinstance(value, float):  # powers of a negative base may be complex
        raise argparse.ArgumentTypeError(f"{text!r} is no number such as 2**40")
    return value


def _whole(text: str) -> int:
    number = _real(text)
    if not abs(number) < 2**53 or number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no integer such as 2**14")
    return int(number)


def _secret(text: str) -> str | int:
    with contextlib.suppress(argparse.ArgumentTypeError):
        return text if text == "ternary" else _whole(text)
    raise argparse.ArgumentTypeError(f"{text!r} is neither ternary nor an integer such as 192")


def _security(text: str) -> int | None:
    with contextlib.suppress(argparse.ArgumentTypeError):
        return None if text == "none" else _whole(text)
    raise argparse.ArgumentTypeError(f"{text!r} is neither none nor a number of bits such as 128")


def _scales(text: str) -> list[int]:
    from .workloads.demo import PRESET_BY_SCALE

    scales = [_whole(part) for part in text.split(",")]
    if unknown := [s for s in scales if s not in PRESET_BY_SCALE]:
        known = ", ".join(map(str, sorted(PRESET_BY_SCALE)))
        raise argparse.ArgumentTypeError(f"no set at 2^{unknown[0]}; there are {known}")
    return scales


def _levels(text: str) -> int | list[float]:
    return [_real(part) for part in text.split(",") if part] if "," in text else _whole(text)


def _bench(args: argparse.Namespace) -> int:
    from .measure import run

    def workloads(args: argparse.Namespace) -> Any:
        from .workloads import tables

        return tables.run(args)

    def host(args: argparse.Namespace) -> Any:
        from .workloads import host

        return host.run(args)

    return run(args, {"workloads": workloads, "host": host})


def _tune(args: argparse.Namespace) -> int:
    from .measure import programs

    return programs.tune(args.presets, args.table, args.tfhe_sets, args.batches)


def _conformance(args: argparse.Namespace) -> int:
    from .measure.conformance import run

    return run(args)


def _fuzz(args: argparse.Namespace) -> int:
    from .measure import fuzz

    return fuzz.run(args)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="latticino", description="Encrypted computing with CKKS and TFHE.")
    parser.add_argument("--version", action="version", version=f"latticino {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, handler: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(handler=handler)
        return sub

    def minutes(text: str) -> float:
        """A number of minutes above 0, of at most one year."""
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number <= 525_600:
            raise argparse.ArgumentTypeError(f"{text!r} is no positive number of minutes, a year at most")
        return number

    def on_device(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--device", help="cpu, cuda or cuda:N; default: cuda if it is built and there is a GPU, "
                         "else cpu")
        sub.add_argument("--threads", type=count(0, MAX_THREADS), default=0, help="number of CPU threads; default: 0, "
                         "which takes all cores")

    demo = command("demo", _demo, "train a model on encrypted digits, run a network on encrypted images or reviews, "
                   "sort encrypted numbers, or decide by trees on encrypted features")
    demo.add_argument("what", nargs="?", choices=tuple(_OWN), default="helr", metavar="WHAT",
                      help="helr: logistic regression on digits; resnet20: ResNet-20 on CIFAR-10, with weights of "
                      "LATTICINO_DATA or random ones; resnet20-aespa, squeezenet, rnn, transformer: networks of our "
                      "own training on CIFAR-10 and IMDB of LATTICINO_DATA, or on generated data; resnet18: random "
                      "weights, generated images; "
                      "sort: generated numbers; trees: boosted trees and a forest on data of scikit-learn")
    on_device(demo)
    demo.add_argument("--preset", help=f"parameter set; default: {DEFAULT_PRESET}; resnet20: n16-d35-boot-v1; "
                      "trees: the fastest set")
    demo.add_argument("--images", type=count(1, 2000), help="networks: number of test inputs that the shadow computes; "
                      "default: all, which are 1000 of CIFAR-10 and 2000 of IMDB")
    demo.add_argument("--encrypted", type=count(0, 2000), help="networks and trees: number of inputs that run "
                      "encrypted; default: none; trees: 10")
    demo.add_argument("--batch", type=count(1, 4096), help="networks: number of inputs in one encrypted run; "
                      "default: 1; rnn: 32")
    demo.add_argument("--memory", help="networks: device memory that a run may take, such as 16GiB")
    demo.add_argument("--weights", type=Path, help="networks: a file of weights that a recipe wrote, .npz or "
                      ".safetensors; default: the file that comes with the package")
    demo.add_argument("--data", choices=("digits", "mnist"), help="helr: data set; default: mnist if LATTICINO_DATA "
                      "has it, else digits")
    demo.add_argument("--iterations", type=count(1))
    demo.add_argument("--rows", type=count(1), help="rows of a mini-batch, a power of two")
    demo.add_argument("--size", type=count(1, 1 << 20), help="sort: number of values; default: 16 on a CPU, 16384 on a "
                      "GPU")
    demo.add_argument("--bits", type=_real, help="sort: bits of precision of one exchange; default: 12")
    demo.add_argument("--scales", type=_scales, help="helr: run a training for each of these scales, such as "
                      "30,35,40,45,50 for 2^30 to 2^50")
    demo.add_argument("--separate", action="store_true", default=None,
                      help="helr: bootstrap weights and momentum separately")
    demo.add_argument("--repeat", type=count(1), help="helr, sort: number of runs; the record has the median of their "
                      "times; default: 1")
    demo.add_argument("--recorded", action=argparse.BooleanOptionalAction, default=None,
                      help="helr, sort: record the work once, and replay it; default: only helr on a GPU")
    demo.add_argument("--output", type=Path, help="file of the plot; default: latticino-demo.png")
    demo.add_argument("--no-plot", action="store_true", default=None, help="draw no plot")
    demo.add_argument("--record", type=Path, help="a JSON file that gets the measured row")

    command("info", _info, "versions, devices, presets")
    explain = command("explain", _explain, "everything about a parameter set")
    explain.add_argument("preset", nargs="?", default=DEFAULT_PRESET)

    params = command("params", _params, "make a CKKS parameter set of your own, or say why it cannot be")
    params.add_argument("--N", type=_whole, default=2**16, help="ring degree, such as 2**14; default: 2**16")
    params.add_argument("--levels", type=_levels, help="multiplications in sequence, or a scale for each level from "
                        "level 0 up, such as 2**40,2**40,2**35; default: as many as fit")
    params.add_argument("--scale", type=_real, help="scale of every level; default: 2**40")
    params.add_argument("--word", type=_whole, help="primes stay below 2**WORD; default: 31")
    params.add_argument("--bootstrapping", action="store_true", help="add the levels that bootstrapping takes")
    params.add_argument("--dnum", type=_whole, help="number of digits of a key switch; default: the one with the "
                        "least work")
    params.add_argument("--secret", type=_secret, default="ternary",
                        help="secret key: ternary, or the number of its coefficients that are not 0")
    params.add_argument("--security", type=_security, default=128,
                        help="bits of security: 128, 192 or 256, or none (for tests)")
    params.add_argument("--quantum", action="store_true", help="count the bits of security against quantum computers")
    params.add_argument("--name", help="name of the set; default: made from the arguments")
    params.add_argument("--device", help="the device whose times are predicted: cpu or cuda (an H200)")
    params.add_argument("--save", type=Path, help="write the set to this file; lt.load_params reads it")

    bench = command("bench", _bench, "measure precision or speed, report or compare what was measured")
    on_device(bench)
    kinds = ("precision", "cpu", "gpu", "gates", "systems", "ablation", "switching", "roofline", "growth", "exactness",
             "messages", "bitpacker", "transforms", "workloads", "ceilings", "counters", "repacking", "host", "compare",
             "report")
    bench.add_argument("what", choices=kinds, metavar="WHAT", help=", ".join(kinds))
    bench.add_argument("files", nargs="*", type=Path, help="compare: two records; roofline, growth, bitpacker: "
                       "read these records instead of measuring; workloads: records to compare with")
    bench.add_argument("--tuning", type=Path, help="gpu: a table that latticino tune wrote, instead of the shipped one")
    bench.add_argument("--part", metavar="PART", choices=(
        "gates", "tables", "u8", "wide", "noise", "counts", "chains", "errors", "study", "words", "unpacked",
        "scales", "sorts", "predictions", "forms", "rotations", "bootstrap", "graph"),
                       help="run this part alone. exactness: gates, tables, u8, wide, or noise (deviations; it runs "
                       "only if it is named). bitpacker: counts, chains, errors, or study (random schedules; --runs is "
                       "their number). workloads: words (of 28 and 30 bits), unpacked (other sets), scales, sorts "
                       "(of scales), or predictions (plans of all workloads, beside records). counters: forms (of "
                       "transforms), rotations, bootstrap (its kernels), or graph (a bootstrapping as one graph)")
    bench.add_argument("--arithmetic", choices=("exact", "fft64"), default="exact",
                       help="exactness: arithmetic of blind rotations")
    bench.add_argument("--plot", type=Path, help="growth, roofline, bitpacker: file of the plot")
    bench.add_argument("--preset", help="parameter set; default: the sets of the documented record")
    bench.add_argument("--runs", type=count(1), help="number of repetitions of each measurement")
    bench.add_argument("--no-peers", action="store_true", help="cpu: do not measure other libraries")
    bench.add_argument("--record", type=Path, help="a JSON file that gets the measured rows; report reads it")

    tune = command("tune", _tune, "measure every variant of the GPU's kernels and write the table of the fastest")
    tune.add_argument("--presets", help="parameter sets whose kernels are measured; default: those of the shipped "
                      "table")
    tune.add_argument("--tfhe-sets", help="TFHE sets whose blind rotations are measured; default: the 128-bit "
                      "sets; empty for none")
    tune.add_argument("--batches", help="numbers of ciphertexts in one blind rotation; the table gets an entry "
                      "for each; default: 1,132,1056")
    tune.add_argument("--table", type=Path, default=Path("tuned.txt"), help="write the table to this file")

    conformance = command("conformance", _conformance, "compare a device with the reference, bit for bit")
    on_device(conformance)
    conformance.add_argument("--preset", help="parameter set; default: every preset on a GPU, every small one on a CPU")
    conformance.add_argument("--all-levels", action="store_true", help="on a CPU: compare every level of large sets")
    conformance.add_argument("--sampled", action="store_true", help="on a GPU: compare only a sample of the levels of "
                             "large sets")
    conformance.add_argument("--simd-oracle", action="store_true", help="compare a GPU with the CPU's vector code; "
                             "`conformance --device cpu` compares that with the plain code")
    conformance.add_argument("--record", type=Path, help="a JSON file that gets a row for each set")

    fuzz = command("fuzz", _fuzz, "run random programs on encrypted values, and compare them with the same steps "
                   "in the clear")
    on_device(fuzz)
    fuzz.add_argument("--minutes", type=minutes, default=5.0, help="minutes for all parts together; default: 5")
    fuzz.add_argument("--programs", type=count(1), help="number of programs of each part, however long they take; with "
                      "10000 and --part ckks, the claimed precision is checked too")
    parts = ("ckks", "tfhe", "switching", "saved", "program-files")
    fuzz.add_argument("--part", choices=parts, metavar="PART", help=f"run this part alone: {', '.join(parts)}")
    fuzz.add_argument("--seed", type=count(0, 2**62), default=1,
                      help="seed of the first program; each failure names the seed of its program")
    fuzz.add_argument("--jobs", type=count(1, 1024), default=1,
                      help="number of processes that share the programs; their first seeds are 1,000,000 apart")
    fuzz.add_argument("--record", type=Path, help="a JSON file that gets a row for each part")
    commands_of_services.add(command, on_device)
    planning.add(command)
    return parser


def _require_writable(args: argparse.Namespace) -> None:
    """Raises FileError, before anything is measured, if the result could not be written."""
    reads = getattr(args, "what", None) == "report"  # records are read from there
    if args.command == "demo" and "output" in _OWN[args.what] and args.output is None and not args.scales:
        args.output = Path("latticino-demo.png")
    plots = not getattr(args, "no_plot", False)
    for name, wanted in (("record", not reads), ("output", plots), ("plot", True), ("table", True)):
        path = getattr(args, name, None)
        if path is None or not wanted:
            continue
        from .measure import records

        if name in ("output", "plot") and path.suffix.lower() not in PICTURES:
            raise errors.UnsupportedError.explain(
                args.command, f"--{name} {arrays.printable(str(path))}", f"a name that ends in {', '.join(PICTURES)}",
                "name such a file")
        records.require_writable(path)


def _open_closed_streams() -> None:
    """Opens /dev/null for every standard stream that is closed (`>&-`). Otherwise the next file that is opened would
    get the stream's number, and printed text would be written to that file."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - until the end


def _give_up(stream: TextIO) -> None:
    """Sends the buffered output of the stream to /dev/null. Otherwise Python would try to write it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: list[str] | None) -> int:
    try:
        parser = _parser()
        args, unknown = parser.parse_known_args(arguments)
        if unknown:
            parser.prog += f" {args.command}"  # the page of help that lists what there is
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    except SystemExit:  # the text of --help is in the buffer
        sys.stdout.flush()
        raise
    if args.command == "demo":
        _require_used(args)
    _require_writable(args)
    status: int = args.handler(args)
    sys.stdout.flush()
    return status


def main(arguments: list[str] | None = None) -> int:
    """Runs one command. Errors of the library end it with their message and status 1."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):  # names of files may contain bytes that are not valid text
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    status, said = 1, ""
    try:
        return _run(arguments)
    except BrokenPipeError:  # `latticino info | head`: the reader has closed the pipe
        _give_up(sys.stdout)
    except KeyboardInterrupt:
        status, said = 130, "interrupted"
    except errors.Error as e:
        said = f"{type(e).__name__}: {e}"
    except OSError as e:
        said = str(e)
    with contextlib.suppress(OSError):
        if said:
            print(f"latticino: {said}", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _give_up(stream)
    return status
