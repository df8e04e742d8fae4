"""The listener: reads requests strictly, writes responses, keeps connections alive."""
