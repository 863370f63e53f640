"""From what is known to the next setting: records, champion, strategy, acquisition, search, questions."""
