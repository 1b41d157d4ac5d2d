"""The program that carries a cell's requests to its socket; it runs inside the sandbox and imports nothing of ours."""
