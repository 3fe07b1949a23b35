//! Recorded histories and the harness that replays them.
