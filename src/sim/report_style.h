// The style sheet of the report.
#pragma once

#include <string_view>

namespace stowage::sim {

inline constexpr std::string_view kReportStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1c2530; --soft: #5b6672; --line: #d9dee4; --card: #f5f7f9;
  --a0: #1d5fa8; --a1: #c4450c; --a2: #1a7a3c; --a3: #7a3fc4; --a4: #a16207; --a5: #0e7490;
  --a6: #b8246b; --a7: #4b5563;
  --b0: #94a3b8; --b1: #2f7fc1; --b2: #e08b2c; --b3: #b4358b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12171d; --text: #e3e8ee; --soft: #9aa7b4; --line: #2d3742; --card: #1a2129;
    --a0: #74b3f0; --a1: #ff9a62; --a2: #62d48c; --a3: #c3a6ff; --a4: #f2c14e; --a5: #5fd3e6;
    --a6: #ff8fc0; --a7: #c2ccd6;
    --b0: #64748b; --b1: #5aa7e6; --b2: #f0a952; --b3: #dd6bb8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 56rem;
  background: var(--page); color: var(--text);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
p { max-width: 44rem; margin: .5rem 0; }
.soft { color: var(--soft); }
.finding { border-left: 4px solid var(--a0); background: var(--card); padding: .75rem 1rem;
  margin: 1.25rem 0; border-radius: 0 .4rem .4rem 0; max-width: none; font-size: 1.05rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; margin: .75rem 0; }
dt { font-weight: 600; }
dd { margin: 0; }
.wide { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); font-size: .85rem; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
td:first-child { font-weight: 600; }
figure { margin: .75rem 0 0; }
figcaption { color: var(--soft); font-size: .9rem; max-width: 44rem; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--text); }
svg .tick { fill: var(--soft); font-size: 12px; }
svg .axis { fill: var(--soft); }
svg .name { font-weight: 600; stroke: none; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .limit { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 3 4; fill: none; }
svg .line { fill: none; stroke-width: 2.25; stroke-linejoin: round; }
path.a0 { stroke: var(--a0); } path.a1 { stroke: var(--a1); } path.a2 { stroke: var(--a2); }
path.a3 { stroke: var(--a3); } path.a4 { stroke: var(--a4); } path.a5 { stroke: var(--a5); }
path.a6 { stroke: var(--a6); } path.a7 { stroke: var(--a7); }
svg text.a0, rect.a0 { fill: var(--a0); } svg text.a1, rect.a1 { fill: var(--a1); }
svg text.a2, rect.a2 { fill: var(--a2); } svg text.a3, rect.a3 { fill: var(--a3); }
svg text.a4, rect.a4 { fill: var(--a4); } svg text.a5, rect.a5 { fill: var(--a5); }
svg text.a6, rect.a6 { fill: var(--a6); } svg text.a7, rect.a7 { fill: var(--a7); }
rect.b0, .key.b0 { fill: var(--b0); background: var(--b0); }
rect.b1, .key.b1 { fill: var(--b1); background: var(--b1); }
rect.b2, .key.b2 { fill: var(--b2); background: var(--b2); }
rect.b3, .key.b3 { fill: var(--b3); background: var(--b3); }
.keys { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .9rem; margin: .5rem 0; }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: .15rem;
  margin-right: .4rem; vertical-align: -1px; }
footer { margin-top: 3rem; padding-top: .75rem; border-top: 1px solid var(--line);
  color: var(--soft); font-size: .85rem; }
)css";

}  // namespace stowage::sim
