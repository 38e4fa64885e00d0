"""Kodi, the media centre, over JSON-RPC: its library, its screen, and its history.

Kodi itself keeps likes, positions and watched titles, and goes on with episodes by itself. It has one profile, so
that all viewers share it.
"""
