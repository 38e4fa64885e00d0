"""Kodi, the media centre, over JSON-RPC: its library, its screen, and what was played on it.

Kodi keeps likes, positions and what was watched itself, and goes on with episodes by itself. It has one profile, so
that all viewers share it.
"""
