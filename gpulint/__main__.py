"""`python -m gpulint`."""

from gpulint.cli.main import main

main()
