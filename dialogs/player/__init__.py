"""Films and series: what to watch, and the player."""

from dialogs import Dialog
from dialogs.player.command_line import application
from dialogs.player.services import forget_profiles, open_player
from dialogs.player.settings import PlayerSettings
from dialogs.player.store import TABLES
from dialogs.player.tools.access import playing_now
from dialogs.player.tools.controls import control_playback, mark_title, play_from, play_title, set_volume
from dialogs.player.tools.lookups import (
    choose_title,
    list_episodes,
    list_played,
    now_playing,
    search_titles,
    show_title,
)

dialog = Dialog(
    tool="watch_things",
    description="Used for films, cartoons and series: finding and playing them, episodes, volume, what was watched.",
    tools=[
        search_titles,
        list_played,
        choose_title,
        play_title,
        play_from,
        control_playback,
        set_volume,
        now_playing,
        list_episodes,
        show_title,
        mark_title,
    ],
    settings=PlayerSettings,
    tables=TABLES,
    services=open_player,
    command_line=application,
    forget=forget_profiles,
    context_lines=playing_now,
)
