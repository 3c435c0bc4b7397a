"""Measures how far element-wise functions are from the correctly rounded result, per device."""
