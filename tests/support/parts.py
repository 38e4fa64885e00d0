"""Optional parts of an installation: tests of all of them together need them all."""

EVERY_DIALOG = ("orders", "planner", "player", "profile", "recall", "research")
EVERY_PLUGIN = (
    "a2a",
    "agent_graphs",
    "agui",
    "audit",
    "calibration",
    "callbacks",
    "encryption",
    "first_steps",
    "help_links",
    "lab",
    "openai_api",
    "page",
    "postgres",
    "remote_tools",
    "ring",
    "seat",
    "speech",
    "standin",
    "studio",
    "telegram",
    "telemetry",
    "usage",
)
EVERY_PART = (*EVERY_DIALOG, *EVERY_PLUGIN)
