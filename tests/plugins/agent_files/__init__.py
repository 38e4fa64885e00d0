"""Agents in YAML files, which are dialogs for everybody."""
