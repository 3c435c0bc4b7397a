"""From a kernel key to CUDA C, and from CUDA C to a launch."""
