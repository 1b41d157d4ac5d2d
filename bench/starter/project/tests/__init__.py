"""The tests of larder: `python -m unittest` in the folder above."""
