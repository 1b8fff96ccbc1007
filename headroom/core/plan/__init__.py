"""Whether a run fits a card and the RAM, from file headers alone: what to ask, the stages, the RAM, what to change."""
