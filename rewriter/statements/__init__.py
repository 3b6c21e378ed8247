"""The first step of the compiler: the parts of a statement, scripts and parameters."""
