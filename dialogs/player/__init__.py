"""Films and series: what to watch, and the player."""

from dialogs import Dialog
from dialogs.player.command_line import command_line
from dialogs.player.services import PlayerSettings, forget, open_services, playing_now
from dialogs.player.store import TABLES
from dialogs.player.tools import controls, lookups

dialog = Dialog(
    tool="watch_things",
    description="Used for films, cartoons and series: finding and playing them, episodes, volume, what was watched.",
    tools=[
        lookups.search_titles,
        lookups.list_played,
        lookups.choose_title,
        controls.play_title,
        controls.play_from,
        controls.control_playback,
        controls.set_volume,
        lookups.now_playing,
        lookups.list_episodes,
        lookups.show_title,
        controls.mark_title,
    ],
    settings=PlayerSettings,
    tables=TABLES,
    services=open_services,
    command_line=command_line,
    forget=forget,
    context_lines=playing_now,
    halts=True,
)
