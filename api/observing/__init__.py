"""What is told of requests: log lines, metrics, traces, each to its true end."""
