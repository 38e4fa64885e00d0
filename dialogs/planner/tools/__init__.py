"""The tools of the planner."""
