"""What users call: functions, the graphs of each, quick ways through a call, and what a function says of itself."""
