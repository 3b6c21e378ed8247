"""Conditions of DEFINE over several rows."""
