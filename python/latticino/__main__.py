import sys

try:
    from .cli import main
except KeyboardInterrupt:  # while the commands load
    print("latticino: interrupted", file=sys.stderr)
    raise SystemExit(130) from None

raise SystemExit(main())
