"""A layer is made anew while it serves: from the record, beside what is read, and compared before it takes over."""
