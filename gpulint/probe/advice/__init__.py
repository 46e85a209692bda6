"""Advice on what to change first: causes of lost time, ranked by the seconds that the run would have saved."""
