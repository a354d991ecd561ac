"""Backup and restore of the embedded servers: both truths at one instant, in one file.

`cut` makes the instant, and says why what is in it belongs together. `archive` is the file. `taking` writes one,
`restoring` brings one back into an empty home, `settling` sees that what the world outside remembers of the time after
the backup is not taken for something of the time after the restore.

Of Postgres it holds a dump and no copy of its files, so it fits any machine and any later PostgreSQL; of Valkey a file
that was rewritten just before. So what was erased earlier is in neither, not even in free pages. What that costs is
time: a restore builds every index anew.
"""
