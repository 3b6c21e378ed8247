"""What a cluster needs to run our Python code: the package on each host, its libraries, and compiled kernels."""
