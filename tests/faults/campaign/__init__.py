"""The fault campaign: several processes under load, killed at random and at named moments, and a witness that counts.

`python tests/faults/campaign` starts it; `docs/faults.md` says what it does and what its line of figures means.
The witness (`command`, `witness`, `household`, `moments`, `checks`) is one process and never killed. Everything else
is a child that the `nursery` forks: writers, a relay, a watcher. They use the product as any program does, and `seams`
lets them die at the moments that matter.
"""
