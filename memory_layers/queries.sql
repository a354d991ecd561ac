-- touch: Hits were used; later rankings and retention may count it.
UPDATE memory SET uses = uses + 1, used_at = %(now)s WHERE id = ANY (%(ids)s)
