"""The shell around campaigns: one owner of all states, runners, sockets, calendar, and how the daemon starts and ends."""
