"""Starts the program, passes its output through, and notices when it hangs and how it ends."""
