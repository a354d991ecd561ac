"""Layer 1: what a running execution shares, in Redis.

`board` is the blackboard and `feed` its change stream; `mailbox`, `scratchpad` and `window` are the smaller rooms.
`summaries` keeps what the older turns of a session said.
Every mutation is one Lua script on one hash slot, so nothing is ever half done, and nothing depends on the memory of a
process: any process that reaches the server may take part.
"""
