"""The parts of a statement, scripts and parameters: the entrance of the compiler."""
