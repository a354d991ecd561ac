"""`python -m lousa` is the command line."""

from .runtime.cli import main

main()
