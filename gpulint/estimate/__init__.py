"""Estimates of a training step's memory and time on GPUs that need not be there.

The program runs in a child process until its training step has been traced. The child writes the step's graph; this
side reads it and never imports TensorFlow. Rooms, each importing only those before it: `graph`, then `memory` and
`time`, then `answers`, then the reports.
"""
