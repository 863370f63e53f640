"""`python -m tuner` is the `tuner` command."""

from tuner.basics.processes import leave_out_working_directory

if __name__ == "__main__":
    leave_out_working_directory()  # before anything else is imported

    from tuner.cli.main import main

    main()
