"""From text to the nodes that the interpreter runs, and their places in the text."""
