"""When what happens in the invented Kimi starts, in seconds since the launch."""

from __future__ import annotations

ARGS_S = 7.4
SPAWN_S = 8.5
DIST_S = 24.0
LOAD_S = 36.0
BAR_S = 37.1
BAR_FULL_S = 88.0
LOADED_S = BAR_FULL_S + 313.0  # the first rank has loaded; until then the log says nothing
LATE_S = (0.0, 1.3, 2.9, 14.2, 0.6, 17.5, 1.9, 2.4)  # how much later each rank has loaded
POOL_S = LOADED_S + 19.0
GRAPH_S = POOL_S + 3.2

DRAFT_S = GRAPH_S + 153.0
DRAFT_GRAPH_S = DRAFT_S + 7.5
EXTEND_GRAPH_S = DRAFT_GRAPH_S + 63.0
HTTP_S = EXTEND_GRAPH_S + 38.0
READY_S = HTTP_S + 5.0
END_S = READY_S + 16.0

CRASH_S = GRAPH_S + 97.3
CRASH_END_S = CRASH_S + 1.1
