"""Films and series: what to watch, and the player."""

from agents.tools.player.controls import (
    control_playback,
    mark_title,
    play_from,
    play_title,
    set_volume,
)
from agents.tools.player.lookups import (
    choose_title,
    list_episodes,
    list_played,
    now_playing,
    search_titles,
    show_title,
)
from dialogs import Dialog

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
)
