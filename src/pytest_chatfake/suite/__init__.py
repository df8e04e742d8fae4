"""What a pytest run shows about its fakes: a test's configuration, and failure sections."""
