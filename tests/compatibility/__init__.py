"""Databases that earlier versions wrote open and go on."""
