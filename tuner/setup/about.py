"""What `?` tells about each question of `tuner init`, by the last word of its key."""

ABOUT = {
    "machine": "Any name: console, report and journal show it. Campaigns with the same machine never move it at once.",
    "campaign": "Commands name it: `tuner campaign start NAME`. Another product or tool later gets another campaign.",
    "name": "A short word for the computer, such as melt. What operators read is asked next.",
    "label": "What console and report show, such as Melt temperature; an empty line: the name itself.",
    "kind": "A number has a lowest and a highest value. A choice is one of a few things, such as round and flat.",
    "choices": "All that may be tried, such as round, flat. Each further one needs more parts to find out about.",
    "start": "Tuning starts there, and the machine returns to it.",
    "manual": "Then the console asks somebody to change it, and waits until that is confirmed.",
    "change_cost": "What a change of it costs, counted in parts: 5 if changing it takes as long as making five parts. "
    "It is then changed less often. An empty line: it costs nothing, as a setpoint does.",
    "unit": "Only shown, such as bar or °C; numbers are typed without it.",
    "low": "Nothing below is ever sent to the machine.",
    "high": "Nothing above is ever sent to the machine.",
    "step_limit": "A larger change is made in several moves, each read back. An empty line: any change at once.",
    "rate_limit": "Changes wait so that it never goes faster. An empty line: as fast as the machine goes.",
    "scrap": "So many parts that are none end the campaign, so that a mistake costs no more. An empty line: no end.",
    "settling_parts": "They are made and not judged, because the machine still follows the change.",
    "settling_s": "So long is waited after a change before a part is made.",
    "approval": "yes: nothing is sent before somebody has pressed `a` at the console. no: tuning goes on by itself "
    "within the limits.",
    "timezone": "Quiet hours and breaks are in its time, such as Europe/Vienna.",
    "quiet_hours": "Nobody is asked then; parts may still be made. Several with commas. An empty line: there is "
    "always somebody.",
    "breaks": "As quiet hours, but short. Several with commas.",
}
