"""Tests of gpulint, laid out like the code that they test."""
