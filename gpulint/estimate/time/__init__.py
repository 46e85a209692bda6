"""Lower bounds on the time of a training step.

`kinds` says what an operation does, `work` how many FLOP and bytes that takes, `executed` how often it runs, `bounds`
what follows for a card. Nothing here predicts a duration: every figure is a time that the step cannot fall below, under
assumptions that `bounds` states.
"""
