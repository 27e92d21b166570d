"""The program that runs on the host: standard library only, Python 3.6 and newer."""
