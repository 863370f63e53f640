"""The suite: processes drawn by seed, judged as people judge, and what the user is given at the end of a campaign."""
