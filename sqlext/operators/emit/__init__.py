"""EMIT on executors: windows, panes, triggers and firings."""
