"""`python -m effectgate` is `effectgate`."""

from effectgate.cli import main

main()
