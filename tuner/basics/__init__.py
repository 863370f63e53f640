"""Small things that everybody may use: files, names, processes, sentences, times, addresses."""
