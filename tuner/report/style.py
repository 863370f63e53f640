"""How the report looks: on a screen, on a telephone, on paper."""

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --card: #f6f7f8; --ink: #16191d; --quiet: #545b64; --line: #c3c9d0;
  --accent: #1f5fa8; --recipe: #e3efdd; --champion: #fdf0d8; --alarm: #a80000; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --card: #1e2227; --ink: #f0f2f4; --quiet: #aab2bc; --line: #464e58;
    --accent: #7db4f5; --recipe: #24372a; --champion: #3d3018; --alarm: #ff8a80; }
  .figures img { background: #fff; padding: .4em; border-radius: .4em; }
}
* { box-sizing: border-box; }
body { font: 16px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 1080px;
  margin: 1.5em auto; padding: 0 1em; overflow-wrap: anywhere; }
h1 { font-size: 1.6em; margin: 0 0 .2em; } h2 { font-size: 1.2em; margin: 1.6em 0 .5em; }
p.sub { color: var(--quiet); margin: 0 0 1em; } p.note { color: var(--quiet); font-size: .92em; max-width: 62em; }
ul.evidence { padding-left: 1.2em; margin: .6em 0; max-width: 62em; } ul.evidence li { margin: .15em 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .94em; overflow-wrap: normal; }
th, td { padding: .3em .7em .3em 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { border-bottom: 2px solid var(--quiet); } td.n, th.n { text-align: right; }
td.n { white-space: nowrap; }
td.recipe { font-weight: 600; background: var(--recipe); padding-left: .7em; }
tr.champion td { background: var(--champion); }
td.why { font-size: .88em; color: var(--quiet); min-width: 24em; } tr.scrap td { color: var(--alarm); }
tr.out td { color: var(--quiet); text-decoration: line-through; }
.bar { display: inline-block; height: .7em; background: var(--accent); vertical-align: middle; margin-right: .5em; }
.figures img { max-width: 100%; height: auto; display: inline-block; margin: .3em .4em .5em 0; vertical-align: top; }
.wide { overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1em 1.2em; margin: 0; }
dt { color: var(--quiet); } dd { margin: 0; }
@media (max-width: 600px) {
  body { font-size: 15px; margin: .8em auto; padding: 0 .8em; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .3em; }
  th, td { padding-right: .5em; }
  /* a row is a card: nothing is to the side of the screen */
  table.cards, .cards tbody, .cards tr, .cards td { display: block; }
  .cards thead, .cards td:empty { display: none; }
  .cards tr { border-bottom: 2px solid var(--line); padding: .4em 0; }
  .cards td, .cards td.n { border: 0; padding: .1em .4em; text-align: left; white-space: normal; }
  .cards td.why { min-width: 0; }
  .cards td[data-label]::before { content: attr(data-label) ": "; color: var(--quiet); }
}
@media print {
  :root { color-scheme: light; --ground: #fff; --card: #fff; --ink: #000; --quiet: #444; --line: #bbb;
    --accent: #1f5fa8; --recipe: #e3efdd; --champion: #fdf0d8; --alarm: #8a0000; }
  @page { margin: 15mm; }
  body { max-width: none; margin: 0; padding: 0; font-size: 10pt; } tr, img, li { break-inside: avoid; }
  .figures img { padding: 0; max-width: 48%; }
  table { font-size: 8.5pt; } td.why { min-width: 0; }
  .wide { overflow: visible; } h2 { break-after: avoid; } * { print-color-adjust: exact; }
}
"""
