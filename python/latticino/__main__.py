from latticino_command import main

raise SystemExit(main())
