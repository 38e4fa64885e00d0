"""The common parts of tests: fakes of the edges, and helpers. The map, by the needs of a test:

Conversations: an assistant, and what its models say: `scripted_assistant`, `fake_assistant`, `compiled`,
    `takeover`, `tiny_graph`, `endpoint_talk`, `obeying`, `odd_provider`, `wire_forms`, `refusing_server`,
    `changed_speakers`, `small_window`, `user_words`, `prompt_snapshot`, `training`, `settings_cache`, `made_tables`,
    `prompt_copy`, `stops`.

The stand-in: its room and its tables: `rules`, `rules_prompt`, `standin_table`, `standin_fresh`, `opening_table`,
    `standin_calls`, `sampling`, `made_inputs`.

Tools for tests: `shop_tools`, `page_tools`, `write_tools`, `errands`; the forms in which providers take
    them, and arguments as models write them: `tool_dialects`, `written_arguments`.

Servers on this machine: `http_service`, `http_door`, `routes_once`, `matching_steps`, `page_visits`, `loopback`,
    `webhook_server`, `search_servers`, `notification_server`, `pdf_file`, `postgres_server`, `worker_fleet`,
    `trace_receiver`, `speech`.

Telegram: a server that speaks the Bot API: `telegram_server`, `telegram_http`, `telegram_schema`, `telegram_table`,
    `telegram_limits`, `telegram_flood`, `telegram_chats`.

Processes, time and the terminal: `killable_process`, `killable_writes`,
    `killable_door`, `killable_server`, `command_line`, `commands`, `tools_command`, `warm_python`, `warm_process`,
    `simulated_time`, `until`, `pseudo_terminal`, `clocked_app`, `terminal_visit`, `ringing`, `exports`, `node`,
    `chromium`, `browser`, `trips`.

The repository itself: `pages`, `places`, `parts`, `checkout`, `package_copy`, `deletion`, `next_version`,
    `fine_tuning`, `own_folders`, `reference`, `size`, `changed_tests`, `core_branches`, `screenshots`, `transcripts`,
    `strong_model`.
"""
