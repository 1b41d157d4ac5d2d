"""How often a policy is wrong: enumerated, on the user's own rows, and in worlds where the truth is known."""
