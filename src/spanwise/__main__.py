"""`python -m spanwise` is the command line."""

from spanwise.cli.main import run

if __name__ == "__main__":
    run()
