"""Lowers the conditions of DEFINE that read several rows."""
