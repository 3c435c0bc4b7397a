"""The functions of the array API standard, one file a chapter.

Each function is thin: it checks its arguments, promotes, builds a node and wraps it.
"""
