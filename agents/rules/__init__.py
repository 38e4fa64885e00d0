"""How the rule-based model thinks: word lists and tool cards drive it, so that new abilities need no new code.

`scene` reads the prompt, `choice` and `wishes` find what is meant, `asides` what is about the conversation itself,
`slots` and `references` read values,
`supervisor`, `tasks`, `forms` and `observing` decide, `replies` words the outcome.
"""
