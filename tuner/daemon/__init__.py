"""The shell around campaigns: one owner of all states, runners, sockets, calendar, start and end."""
