"""The parts that an installation may leave out: what is said of all of them together holds where all of them are."""

EVERY_DIALOG = ("orders", "planner", "player", "profile", "recall", "research")
EVERY_PLUGIN = (
    "a2a",
    "agent_files",
    "agent_graphs",
    "agui",
    "audit",
    "encryption",
    "lab",
    "postgres",
    "remote_tools",
    "ring",
    "seat",
    "standin",
    "telegram",
    "telemetry",
    "usage",
)
EVERY_PART = (*EVERY_DIALOG, *EVERY_PLUGIN)
